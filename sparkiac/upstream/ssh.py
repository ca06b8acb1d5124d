"""Run commands on this machine or, with the user's ssh, on another one."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from typing import Final

from sparkiac.report.characters import escaped

FAILED: Final = 255
"""Exit code of ssh if there is no connection."""
NO_COMMAND: Final = 127
"""Exit code of a shell if the command does not exist."""
TimedOut = subprocess.TimeoutExpired
"""Exception of `run` after a timeout; under this name, callers need no import of subprocess."""
Completed = subprocess.CompletedProcess[str]
"""Result of `run`."""
_SSH: Final = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")


def run(
    target: str | None, words: Sequence[str], *, program: str, timeout_s: float, port: int | None = None
) -> Completed:
    """Run a command with `program` as its input, at `target` ([USER@]ADDRESS) or on this machine.

    Output that is not UTF-8 is replaced. Raises FileNotFoundError if this machine has no such command, and
    TimedOut.
    """
    ports = ("-p", str(port)) if port else ()
    command = (*_SSH, *ports, "--", target, shlex.join(words)) if target else tuple(words)
    return subprocess.run(  # noqa: S603  no shell here, and the target is a word of its own, behind `--`
        command, input=program, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False
    )


def last_line(output: str, default: str) -> str:
    """Return the last line of a program's output in printable characters."""
    lines = output.strip().splitlines()
    return escaped(lines[-1].strip()) if lines else default
