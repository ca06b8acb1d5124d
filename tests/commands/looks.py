"""What is in a folder, and what is on a terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
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


def printed_on_terminal(*arguments: str, cwd: Path, env: Mapping[str, str]) -> bytes:
    """Run a command whose standard output is a terminal; give what it wrote there."""
    ours, theirs = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", **env}
    command = [sys.executable, "-m", "sparkiac", *arguments]
    # A terminal holds a few thousand characters: it must be read while the command writes.
    with subprocess.Popen(command, cwd=cwd, env=environment, stdout=theirs, stderr=subprocess.DEVNULL) as running:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # Linux ends a terminal's stream with an error
            while block := os.read(ours, 4096):
                said += block
        os.close(ours)
        assert running.wait() == 0
    return said
