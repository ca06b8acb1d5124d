"""Run a command as a process of its own: what it printed, its memory, its time, and the processes that it left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_BYTES: Final = 300 << 20
LONGEST_S: Final = 400
"""No case needs half of it on a machine that does nothing else."""
DYING_S: Final = 300
MARK: Final = "SPARKIAC_HOSTILE_RUN"
_LAUNCHER: Final = """\
import json, os, sys, time
began = time.monotonic()
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
with open(sys.argv[1], "w") as file:
    json.dump([usage.ru_maxrss << 10, time.monotonic() - began], file)
sys.exit(os.waitstatus_to_exitcode(status) % 256)
"""
"""The memory of a process begins with that of the process that started it, so a small one starts the command."""


class Measured(NamedTuple):
    """A command that has ended."""

    code: int
    text: str
    """What it printed, in one line."""
    peak_bytes: int
    """The most memory that it, or one of its children, had."""
    seconds: float
    left: list[str]
    """Processes that it has started and that still run."""


def run(*words: str, cwd: Path, env: Mapping[str, str]) -> Measured:
    """Run `sparkiac` with these words."""
    mark, report = uuid.uuid4().hex, cwd / "measured.json"
    launch = [sys.executable, "-S", "-c", _LAUNCHER, str(report), sys.executable, "-m", "sparkiac", *words]
    done = subprocess.run(
        launch, cwd=cwd, env={**os.environ, **env, MARK: mark}, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=LONGEST_S, check=False,
    )  # fmt: skip
    peak, seconds = json.loads(report.read_text())
    return Measured(done.returncode, " ".join((done.stdout + done.stderr).split()), peak, seconds, left(mark))


def left(mark: str) -> list[str]:
    """Return the processes with a mark that a killed group has left: killed processes end a moment later."""
    until = time.monotonic() + DYING_S
    while (found := running(mark)) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def running(mark: str) -> list[str]:
    """Return the command lines of the processes with a mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:  # another user's, or it has ended
            continue
    return found
