"""The parsers of preflight, on what the commands and files really say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

MEMINFO = """\
MemTotal:       125458392 kB
MemFree:         3341234 kB
MemAvailable:   98123456 kB
Active(anon):   11223344 kB
HugePages_Total:       0
"""


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("28.3.3\n", (28, 3, 3)),
        ("v2.40.3", (2, 40, 3)),
        ("26.1.5+dfsg1", (26, 1, 5)),
        ("NVIDIA Container Toolkit CLI version 1.17.8\ncommit: f202b80a9b9d0db00d9b1d73c0128c8962c55f4d\n", (1, 17, 8)),
        ("systemd 255 (255.4-1ubuntu8.10)\n+PAM +AUDIT", (255,)),
    ],
)
def test_versions(parsers: ModuleType, text: str, version: tuple[int, ...]) -> None:
    assert parsers.parse_version(text) == version


def test_a_text_without_a_version_is_shown(parsers: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="no version in 'unknown'"):
        parsers.parse_version("unknown")


def test_gpus(parsers: ModuleType) -> None:
    assert parsers.parse_gpus("NVIDIA GB10, 12.1, 580.142\n") == [["NVIDIA GB10", "12.1", "580.142"]]


@pytest.mark.parametrize("text", ["", "No devices were found\n", "NVIDIA GB10, [N/A]\n"])
def test_what_is_no_gpu_is_shown(parsers: ModuleType, text: str) -> None:
    with pytest.raises(RuntimeError, match="unexpected output of nvidia-smi") as raised:
        parsers.parse_gpus(text)
    assert repr(text) in str(raised.value)


def test_meminfo(parsers: ModuleType) -> None:
    found = parsers.parse_meminfo(MEMINFO)
    assert found["MemTotal"] == 125458392 * 1024
    assert found["MemAvailable"] == 98123456 * 1024


def test_sizes_for_people(parsers: ModuleType) -> None:
    assert parsers.gib(125458392 * 1024) == "119.6 GiB"


def test_no_line_is_longer_than_100_columns_or_has_raw_bytes(preflight: ModuleType, parsers: ModuleType) -> None:
    hint = "download it: hf download Qwen/Qwen3.6-35B-A3B-FP8 --revision " + "a" * 40 + " --cache-dir /srv/models/hub"
    image = "registry.example.org/organisation/a-long-name@sha256:" + "0" * 64
    [first, *others] = preflight.shown(parsers.CheckResult("FAIL", "image", "missing", image, hint, "HST003"))
    assert first.startswith("FAIL     HST003  image: found missing, wanted")
    assert all(len(line) <= 100 for line in (first, *others))
    assert all(line.startswith(" " * 17) for line in others)
    assert "sha256:000000000000…" in " ".join([first, *others])

    def broken(*_: object) -> None:
        raise OSError(2, "No such file", "/srv")

    for key, wanted in (("disk", {"path": "/srv", "free_bytes": 1 << 40}), ("memory_bytes", 1 << 37)):
        [found] = parsers.run_check(key, parsers.Check(broken), wanted, None)
        assert found.wanted in {"path /srv, free_bytes 1024.0 GiB", "128.0 GiB"}
