"""Preflight of one unit: make room, then see that all is there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    Make = Callable[..., Any]

IMAGE = "nvcr.io/nvidia/vllm@sha256:" + "0" * 64
DOCKER = {"docker ps": "", "docker rm": "", "docker image inspect": "[]"}
FILES = {"proc/meminfo": "MemTotal: 100 kB\nMemAvailable:   1048576 kB\n", "proc/sys/vm/drop_caches": ""}


@pytest.fixture(autouse=True)
def _no_waiting(preflight: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "MEMORY_WAIT_S", 0)


def start(preflight: ModuleType, host: Any, **unit: object) -> list[str]:  # noqa: ANN401
    lines = preflight.guarded("start", {"name": "qwen36", "image": IMAGE, **unit}, host)
    return [f"{line.state} {line.check}" for line in lines]


def test_all_is_well(preflight: ModuleType, machine: Make, tmp_path: Path) -> None:
    host = machine(DOCKER, **FILES)
    lines = start(preflight, host, memory_bytes=1 << 30, cache="/var/cache/sparkiac/qwen36/0123abcd")
    assert lines == ["ok available memory", "ok image"]
    assert (tmp_path / "proc/sys/vm/drop_caches").read_text() == "3\n"
    assert (tmp_path / "var/cache/sparkiac/qwen36/0123abcd").stat().st_mode & 0o777 == 0o700


def test_too_little_memory(preflight: ModuleType, machine: Make) -> None:
    assert start(preflight, machine(DOCKER, **FILES), memory_bytes=2 << 30)[0] == "FAIL available memory"
    assert start(preflight, machine(DOCKER, **FILES), memory_bytes=None)[0] == "ok available memory"


def test_memory_that_comes_back_is_waited_for(
    preflight: ModuleType, machine: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(preflight, "MEMORY_WAIT_S", 60)
    given_back = "MemAvailable:   4194304 kB\n"
    monkeypatch.setattr(preflight.time, "sleep", lambda _: (tmp_path / "proc/meminfo").write_text(given_back))
    assert start(preflight, machine(DOCKER, **FILES), memory_bytes=2 << 30)[0] == "ok available memory"


def test_what_a_killed_supervisor_left_is_removed_first(preflight: ModuleType, machine: Make) -> None:
    host = machine({**DOCKER, "docker ps": "abc\ndef\n"}, **FILES)
    start(preflight, host)
    assert host.ran[:2] == [
        "docker ps -aq --filter label=com.docker.compose.project=sparkiac-qwen36",
        "docker rm --force abc def",
    ]


def test_a_missing_image_and_a_missing_secret(preflight: ModuleType, machine: Make) -> None:
    gone = RuntimeError("Error response from daemon: No such image")
    host = machine({**DOCKER, "docker image inspect": gone}, **FILES)
    lines = preflight.guarded("start", {"name": "x", "image": IMAGE, "secrets": ["key"]}, host)
    assert [line.state for line in lines] == ["ok", "FAIL", "FAIL"]
    assert "/etc/sparkiac/secrets/key: No such file" in lines[1].found
    assert lines[2].found == "Error response from daemon: No such image"


def test_the_command_reads_the_units(preflight: ModuleType, machine: Make, capsys: pytest.CaptureFixture[str]) -> None:
    units = {"units": {"qwen36": {"memory_bytes": 1, "image": IMAGE, "secrets": [], "cache": None}}}
    host = machine(DOCKER, **FILES, **{"etc/sparkiac/preflight.json": json.dumps(units)})
    assert preflight.main(["--start", "qwen36"], host) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("ok       image")
    with pytest.raises(SystemExit) as ended:
        preflight.main(["--start", "other"], host)
    assert ended.value.code == 2
