"""Read and remove a directory tree. Symlinks are never followed."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sparkiac.write.errors import Unsafe

if TYPE_CHECKING:
    from collections.abc import Iterator

CARRIED = ".ansible"
"""The directory that ansible tools make where they run. It is theirs: never read, never judged."""


class Entry(NamedTuple):
    """What tells two states of one path apart without reading it.

    A directory's size and time are left out: they change when an entry does, and that is seen by itself.
    """

    mode: int
    inode: int
    size: int
    mtime_ns: int

    @property
    def is_dir(self) -> bool:
        """Whether this is a directory."""
        return stat.S_ISDIR(self.mode)


def carried(path: str) -> bool:
    """Whether a path is, or is in, the directory of the ansible tools."""
    return path == CARRIED or path.startswith(CARRIED + "/")


def ancestors(path: str) -> list[str]:
    """All directories above a path, the nearest first, without the top."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(len(parts) - 1, 0, -1)]


def walk(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield each path below `root` with its own status; one directory is open at a time."""
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(root / folder) as listing:
            found = sorted(listing, key=lambda entry: entry.name)
        for entry in found:
            path = f"{folder}{entry.name}"
            status = entry.stat(follow_symlinks=False)
            yield path, status
            if stat.S_ISDIR(status.st_mode):
                pending.append(f"{path}/")


def scan(root: Path) -> dict[str, Entry]:
    """Read the whole tree below `root`, contents excepted.

    Raises `Unsafe` for symlinks, devices and mounts, and `PermissionError` for a directory that this user
    could not delete later: better now than when the new tree is in place.
    """
    device = root.lstat().st_dev
    entries: dict[str, Entry] = {}
    problems: dict[str, str] = {}
    for path, status in walk(root):
        problem = _problem(path, status, device)
        if problem:
            problems[path] = problem
        entries[path] = _entry(root / path, status)
    if problems:
        raise Unsafe(problems, reason="the target contains files of a kind that sparkiac never writes")
    return entries


def remove(root: Path) -> None:
    """Delete a tree that is ours to delete. An empty one needs no file descriptor: there may be none."""
    with suppress(OSError):
        root.rmdir()
        return
    clear(root)
    root.rmdir()


def clear(root: Path) -> None:
    """Delete all that is in a directory. Files are only unlinked: their inodes may live on elsewhere."""
    with os.scandir(root) as listing:
        found = list(listing)
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            path = Path(entry.path)
            with suppress(OSError):  # then emptying it fails too, or there was no need
                path.chmod(0o700)  # a read-only directory of the ansible tools could not be emptied
            remove(path)
        else:
            os.unlink(entry.path)  # noqa: PTH108 - a Path for each file costs more than the call


def _problem(path: str, status: os.stat_result, device: int) -> str:
    if status.st_dev != device:
        return "another file system is mounted here"
    if carried(path) and path != CARRIED:
        return ""
    if stat.S_ISLNK(status.st_mode):
        return "a symlink"
    return "" if stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode) else "not a plain file"


def _entry(path: Path, status: os.stat_result) -> Entry:
    if not stat.S_ISDIR(status.st_mode):
        return Entry(status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns)
    if status.st_uid != os.geteuid() and not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(13, "belongs to another user and could not be replaced", str(path))
    return Entry(status.st_mode, status.st_ino, 0, 0)
