"""Real full, small and read-only file systems, and a real lack of file descriptors."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from sparkiac.write import diff, survey

from .trees import SCRIPT, STATE, generation, litter, put, snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a small file system of its own."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    done = subprocess.run(["mount", "-t", "tmpfs", "none", tmp_path], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot mount: {done.stderr}")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


def remount(disk: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", disk], check=True)


def fill(disk: Path, size: str, *, step: int) -> int:
    """Commit with more and more room until it works; return how often there was too little."""
    target = disk / "lab"
    put(generation("a"), target)
    before = snapshot(target)
    usage = os.statvfs(disk)
    used = (usage.f_blocks - usage.f_bfree) * usage.f_bsize if size == "size" else usage.f_files - usage.f_ffree
    for failed in range(200):
        remount(disk, f"{size}={used + failed * step}")
        try:
            put(generation("b"), target)
        except OSError as error:
            assert error.errno == errno.ENOSPC  # noqa: PT017 - the last round does not raise
            assert snapshot(target) == before
            assert litter(target) == []
        else:
            assert (target / "PLAN.md").read_text() == "b"
            assert litter(target) == []
            return failed
    pytest.fail("never enough room")


def test_a_full_disk_at_each_step(disk: Path) -> None:
    assert fill(disk, "size", step=os.sysconf("SC_PAGE_SIZE")) > 15


def test_no_inodes_left_at_each_step(disk: Path) -> None:
    assert fill(disk, "nr_inodes", step=1) > 30


def test_a_full_disk_at_the_first_generation(disk: Path) -> None:
    target = disk / "x" / "lab"
    for pages in range(1, 200):
        remount(disk, f"size={pages * os.sysconf('SC_PAGE_SIZE')}")
        try:
            put(generation("a"), target)
        except OSError as error:
            assert error.errno == errno.ENOSPC  # noqa: PT017 - the last round does not raise
            assert list(disk.iterdir()) == []
        else:
            break
    assert pages > 40
    assert litter(target) == []


def test_a_read_only_disk(disk: Path) -> None:
    target = disk / "lab"
    put(generation("a"), target)
    before = snapshot(target)
    remount(disk, "ro")
    assert not put(generation("a"), target).any
    assert survey(generation("b"), target, **STATE).any
    assert "only-b/f" in diff(generation("b"), target)
    for missing in (disk / "new", disk / "x" / "new"):
        with pytest.raises(OSError, match="Read-only") as caught:
            put(generation("b"), missing)
        assert caught.value.errno == errno.EROFS
    with pytest.raises(OSError, match="Read-only"):
        put(generation("b"), target)
    assert snapshot(target) == before
    assert litter(target) == []


FEW_DESCRIPTORS = """
import errno, os, resource, sys
from pathlib import Path
from trees import generation, litter, put, snapshot
target = Path("lab")
put(generation("a"), target)
before = snapshot(target)
used = len(os.listdir("/proc/self/fd")) - 1
failed = 0
for room in range(1, 30):
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + room, 4096))
    try:
        put(generation("b"), target)
        code = 0
    except OSError as error:
        code = error.errno
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    assert litter(target) == [], (room, litter(target))
    if not code:
        break
    assert code == errno.EMFILE, code
    assert snapshot(target) == before
    failed += 1
assert (target / "PLAN.md").read_text() == "b"
print(failed)
"""


def test_no_file_descriptors_left_at_each_step(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FEW_DESCRIPTORS]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, **SCRIPT)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 2
