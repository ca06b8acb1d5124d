"""What is in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def everything(root: Path) -> dict[str, tuple[int, int, int]]:
    """Take inode, time and mode of all that is below a folder: what changes when anything is written."""
    return {
        path.relative_to(root).as_posix(): (status.st_ino, status.st_mtime_ns, status.st_mode)
        for path in sorted(root.rglob("*"))
        for status in [path.lstat()]
    }


def contents(root: Path) -> dict[str, tuple[str, bytes]]:
    """Take mode and bytes of all files below a folder, and the modes of its folders."""
    return {
        path.relative_to(root).as_posix(): (f"{path.stat().st_mode:o}", path.read_bytes() if path.is_file() else b"")
        for path in sorted(root.rglob("*"))
    }
