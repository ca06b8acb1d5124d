"""Read and remove a directory tree. Symlinks are never followed.

Paths inside of a tree are texts: for a large fleet, creating Path objects would take longer than the system calls.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from sparkiac.write.staging import UnsafeTarget

CARRIED = ".ansible"
"""The directory that Ansible tools create where they run. sparkiac neither reads nor changes its content."""


class FileStatus(NamedTuple):
    """The properties that show a change of a path without reading it.

    Size and time of a directory are left out: they change with its entries, which are compared themselves.
    """

    mode: int
    inode: int
    size: int
    mtime_ns: int

    @property
    def is_dir(self) -> bool:
        """Return whether this is a directory."""
        return stat.S_ISDIR(self.mode)


def carried(path: str) -> bool:
    """Return whether a path is the directory of the Ansible tools or below it."""
    return path == CARRIED or path.startswith(CARRIED + "/")


def ancestors(path: str) -> list[str]:
    """Return all directories above a path, the nearest first, without the root of the tree."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(len(parts) - 1, 0, -1)]


def walk(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield each path below `root` with its status, without following links; one directory is open at a time."""
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(f"{root}/{folder}") as listing:
            found = sorted(listing, key=attrgetter("name"))
        for entry in found:
            path = f"{folder}{entry.name}"
            status = entry.stat(follow_symlinks=False)
            yield path, status
            if stat.S_ISDIR(status.st_mode):
                pending.append(f"{path}/")


def content(root: Path, path: str) -> bytes:
    """Return the content of a file below `root`."""
    with open(f"{root}/{path}", "rb") as file:  # noqa: PTH123
        return file.read()


def scan(root: Path) -> dict[str, FileStatus]:
    """Return the status of all paths below `root`.

    Raises `UnsafeTarget` for symlinks, devices and mounts, and `PermissionError` for a directory that this user could
    not delete after the replacement.
    """
    device = root.lstat().st_dev
    entries: dict[str, FileStatus] = {}
    problems: dict[str, str] = {}
    for path, status in walk(root):
        problem = _problem(path, status, device)
        if problem:
            problems[path] = problem
        entries[path] = _entry(root, path, status)
    if problems:
        raise UnsafeTarget(
            problems, reason="the target contains symlinks, mounts or special files, which sparkiac never writes"
        )
    return entries


def remove(root: Path | str) -> None:
    """Delete a tree. An empty directory is deleted even if no file descriptor is left to read it."""
    try:
        clear(root)
    except OSError:
        with suppress(OSError):
            os.rmdir(root)  # noqa: PTH106
            return
        raise
    os.rmdir(root)  # noqa: PTH106


def clear(root: Path | str) -> None:
    """Delete the content of a directory. Files are only unlinked, because another tree may link to them."""
    with os.scandir(root) as listing:
        found = list(listing)
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            with suppress(OSError):  # if this matters, deleting the content fails too
                os.chmod(entry.path, 0o700)  # noqa: PTH101  the Ansible tools may create read-only directories
            remove(entry.path)
        else:
            os.unlink(entry.path)  # noqa: PTH108


def _problem(path: str, status: os.stat_result, device: int) -> str:
    if status.st_dev != device:
        return "another file system is mounted here"
    if carried(path) and path != CARRIED:
        return ""
    if stat.S_ISLNK(status.st_mode):
        return "a symlink"
    return "" if stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode) else "not a plain file"


def _entry(root: Path, path: str, status: os.stat_result) -> FileStatus:
    if not stat.S_ISDIR(status.st_mode):
        return FileStatus(status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns)
    if status.st_uid != os.geteuid() and not os.access(root / path, os.W_OK | os.X_OK):
        raise PermissionError(13, "belongs to another user and cannot be replaced", str(root / path))
    return FileStatus(status.st_mode, status.st_ino, 0, 0)
