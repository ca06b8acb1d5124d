"""Preflight of one unit: make room, then see that all is there."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host.preflight.expectations import Expectations
from tests.host.expected import complete

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    Make = Callable[..., Any]

IMAGE = "nvcr.io/nvidia/vllm@sha256:" + "0" * 64
DOCKER = {"docker ps -aq": "", "docker ps -q": "", "docker rm": "", "docker image inspect": "[]"}
FILES = {"proc/meminfo": "MemTotal: 100 kB\nMemAvailable:   1048576 kB\n", "proc/sys/vm/drop_caches": ""}


@pytest.fixture(autouse=True)
def _no_waiting(preflight: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight.start, "MEMORY_WAIT_S", 0)


def prepared(
    preflight: ModuleType,
    host: Any,  # noqa: ANN401
    name: str = "x",
    unpinnable: object = None,
    *,
    nft: bool = True,
    **unit: object,
) -> Any:  # noqa: ANN401
    units = {name: {"image": IMAGE, **unit}}
    wanted = complete(Expectations, {"units": units, "unpinnable": unpinnable, "nft": nft})
    return preflight.check_unit(name, wanted, host)


def start(preflight: ModuleType, host: Any, **unit: object) -> list[str]:  # noqa: ANN401
    lines = prepared(preflight, host, "qwen36", **unit)
    return [f"{line.state} {line.check}" for line in lines]


def test_all_is_well(preflight: ModuleType, machine: Make, tmp_path: Path) -> None:
    host = machine(DOCKER, **FILES)
    lines = start(preflight, host, memory_bytes=1 << 30, cache="/var/cache/sparkiac/qwen36/0123abcd")
    assert lines == ["ok page cache", "ok available memory", "ok image"]
    assert (tmp_path / "proc/sys/vm/drop_caches").read_text() == "3\n"
    assert (tmp_path / "var/cache/sparkiac/qwen36/0123abcd").stat().st_mode & 0o777 == 0o700


def test_a_unit_with_the_gpu_does_not_start_while_module_and_libraries_differ(
    preflight: ModuleType, machine: Make
) -> None:
    package = "Package: libnvidia-compute-580\nStatus: install ok installed\nVersion: 580.{}-0ubuntu1\n"
    loaded = "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.173.02  Release Build"
    for version, state in (("178.04", "FAIL"), ("173.02", "ok")):
        files = {"var/lib/dpkg/status": package.format(version), "proc/driver/nvidia/version": loaded}
        host = machine(DOCKER, **FILES, **files)
        [line] = [line for line in prepared(preflight, host, gpu=True) if line.check == "packages of one set"]
        assert (line.state, line.code) == (state, "DRV005")
        assert not [line for line in prepared(preflight, host) if line.check == "packages of one set"]
    assert line.found == "yes"
    host = machine(DOCKER, **FILES, **{"var/lib/sparkiac/os/state.json": '{"phase": "returning"}'})
    [line] = [line for line in prepared(preflight, host, gpu=True) if line.check == "packages of one set"]
    assert (line.state, line.found) == ("FAIL", "packages of two sets may be installed (returning)")


def test_too_little_memory(preflight: ModuleType, machine: Make) -> None:
    assert start(preflight, machine(DOCKER, **FILES), memory_bytes=2 << 30)[1] == "FAIL available memory"
    assert start(preflight, machine(DOCKER, **FILES), memory_bytes=None)[1] == "ok available memory"


def test_memory_that_comes_back_is_waited_for(
    preflight: ModuleType, machine: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(preflight.start, "MEMORY_WAIT_S", 60)
    given_back = "MemAvailable:   4194304 kB\n"
    monkeypatch.setattr(preflight.start.time, "sleep", lambda _: (tmp_path / "proc/meminfo").write_text(given_back))
    assert start(preflight, machine(DOCKER, **FILES), memory_bytes=2 << 30)[1] == "ok available memory"


def test_a_stop_while_it_waits_is_no_failure(
    preflight: ModuleType, machine: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight.start, "MEMORY_WAIT_S", 60)
    monkeypatch.setattr(preflight.start.time, "sleep", lambda _: os.kill(os.getpid(), signal.SIGTERM))
    units = {"x": {"image": IMAGE, "memory_bytes": 2 << 30}}
    wanted = json.dumps(complete(Expectations, {"units": units}))
    former = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            preflight.main(["--start", "x", "--expect-json", wanted], machine(DOCKER, **FILES))
    finally:
        signal.signal(signal.SIGTERM, former)
    assert ended.value.code == 0


def test_what_a_killed_supervisor_left_is_removed_first(preflight: ModuleType, machine: Make) -> None:
    host = machine({**DOCKER, "docker ps -aq": "abc\ndef\n"}, **FILES)
    start(preflight, host)
    assert host.ran[:2] == [
        "docker ps -aq --filter label=com.docker.compose.project=sparkiac-qwen36",
        "docker rm --force abc def",
    ]


def test_a_missing_image_and_a_missing_secret(preflight: ModuleType, machine: Make) -> None:
    gone = RuntimeError("Error response from daemon: No such image")
    host = machine({**DOCKER, "docker image inspect": gone}, **FILES)
    lines = prepared(preflight, host, secrets=["key"])
    assert [line.state for line in lines] == ["ok", "ok", "FAIL", "FAIL"]
    assert "/etc/sparkiac/secrets/key: No such file" in lines[2].found
    assert lines[3].found == "missing"
    assert lines[3].hint == "apply again: it brings the image"


def test_the_command_reads_the_units(preflight: ModuleType, machine: Make, capsys: pytest.CaptureFixture[str]) -> None:
    units = complete(Expectations, {"units": {"qwen36": {"memory_bytes": 1, "image": IMAGE}}})
    host = machine(DOCKER, **FILES, **{"etc/sparkiac/preflight.json": json.dumps(units)})
    assert preflight.main(["--start", "qwen36"], host) == 0
    assert capsys.readouterr().out.splitlines()[2].split()[:2] == ["ok", "image:"]
    with pytest.raises(SystemExit) as ended:
        preflight.main(["--start", "other"], host)
    assert ended.value.code == 2


def test_the_page_cache_is_dropped_before_each_start(preflight: ModuleType, machine: Make, tmp_path: Path) -> None:
    """(MEM002) Also before one that then fails for lack of memory, and it is dropped before memory is looked at."""
    host = machine(DOCKER, **FILES)
    lines = prepared(preflight, host, memory_bytes=1 << 60)
    assert [(line.state, line.code) for line in lines][:2] == [("ok", "MEM002"), ("FAIL", "MEM017")]
    assert (tmp_path / "proc/sys/vm/drop_caches").read_text() == "3\n"


@pytest.mark.parametrize(("running", "stuck"), [("", True), ("abc\n", False)])
def test_memory_that_nothing_holds_requires_a_reboot(
    preflight: ModuleType, machine: Make, running: str, *, stuck: bool
) -> None:
    """(MEM017) While another container runs, that one may hold it."""
    host = machine({**DOCKER, "docker ps -q": running}, **FILES)
    line = prepared(preflight, host, memory_bytes=2 << 30)[1]
    assert (line.state, line.code, line.found) == ("FAIL", "MEM017", "1.0 GiB")
    assert ("the driver has not released it, so reboot the host" in line.hint) is stuck
    assert line.hint


def test_each_extra_file_must_be_there(preflight: ModuleType, machine: Make) -> None:
    """(HST014) A directory under its name is none."""
    host = machine(DOCKER, **FILES, **{"var/files/a/parser.py": "x", "var/files/b/x": "x"})
    files = ["/var/files/a/parser.py", "/var/files/b", "/var/files/c/parser.py"]
    lines = prepared(preflight, host, files=files)
    found = [(line.state, line.found, line.wanted) for line in lines if line.code == "HST014"]
    assert found == [("ok", "present", files[0]), ("FAIL", "missing", files[1]), ("FAIL", "missing", files[2])]
    assert all("apply again" in line.hint for line in lines if line.state == "FAIL")


def test_a_page_cache_that_cannot_be_dropped(preflight: ModuleType, machine: Make) -> None:
    """(MEM002) Who is not root may not."""
    files = {"proc/meminfo": FILES["proc/meminfo"], "proc/sys/vm/drop_caches/x": ""}
    line = prepared(preflight, machine(DOCKER, **files))[0]
    assert (line.code, line.state, line.found) == ("MEM002", "FAIL", "Is a directory")
    assert "root" in line.hint


COMMIT = "3" * 40
PLACE = f"srv/models/hub/models--o--m/snapshots/{COMMIT}"
WEIGHTS = {"weights": [{"path": f"/{PLACE}", "commit": COMMIT, "manifest": "models/o--m.json"}]}
MANIFEST = json.dumps(
    {"model": "o/m", "commit": COMMIT, "gated": False}
    | {"files": {name: {"sha256": "0" * 64, "size_bytes": 4} for name in ("a.safetensors", "sub/b.json")}}
)


@pytest.mark.parametrize(
    ("contents", "result"),
    [
        ({"a.safetensors": "1234", "sub/b.json": "{  }"}, "ok complete"),
        (
            {"a.safetensors": "123", "sub/b.json": "{  }"},
            "FAIL 1 of 2 files differ: a.safetensors 3 bytes, not 4 bytes",
        ),
        ({"a.safetensors": "1234"}, "FAIL 1 of 2 files differ: sub/b.json missing, not 4 bytes"),
    ],
)
def test_a_node_of_a_group_does_not_start_with_other_weights(
    preflight: ModuleType, machine: Make, contents: dict[str, str], result: str
) -> None:
    """All hosts of a group have the same manifest, so each host alone finds that its files are others."""
    files = {f"{PLACE}/{name}": text for name, text in contents.items()}
    host = machine(DOCKER, **FILES, **files, **{"etc/sparkiac/models/o--m.json": MANIFEST})
    [line] = [line for line in prepared(preflight, host, **WEIGHTS) if line.check.startswith("weights")]
    assert f"{line.state} {line.found}" == result
    assert line.code == "MN008"


def test_the_manifest_of_a_newer_commit_does_not_apply_to_the_former_one(preflight: ModuleType, machine: Make) -> None:
    """The next generation has been staged, or was tried and is not kept."""
    newer = {"etc/sparkiac/models/o--m.json": MANIFEST.replace(COMMIT, "4" * 40)}
    assert f"unknown weights /{PLACE}" in start(preflight, machine(DOCKER, **FILES, **newer), **WEIGHTS)


def test_a_node_without_the_manifest_of_its_weights_does_not_start(preflight: ModuleType, machine: Make) -> None:
    assert "FAIL start" in start(preflight, machine(DOCKER, **FILES), **WEIGHTS)


def test_a_node_does_not_start_without_the_image_that_its_generation_names(
    preflight: ModuleType, machine: Make
) -> None:
    """Another image ID, or another content of the tag, has another name: the pinned one is not on the host."""
    commands = {key: text for key, text in DOCKER.items() if key != "docker image inspect"}
    assert "FAIL start" in start(preflight, machine(commands, **FILES))
