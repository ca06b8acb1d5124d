"""`sparkiac check` as a process that may not take much: memory and time are bounded from outside."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

MEMORY_KIB = 256 * 1024
"""Heap and private mappings of the process: more ends it with a MemoryError, and so with a traceback."""
SECONDS = 20
"""CPU time; one second is the goal."""
LIMITS = f"ulimit -d {MEMORY_KIB} && ulimit -t {SECONDS}"

_FINDING = re.compile(r"^(?P<file>\S+):(\d+):(\d+): (error|warning) ((?:[A-Z]{3}|MN)[0-9]{3}) ", re.MULTILINE)


class Checked(NamedTuple):
    """How a check ended, and each finding as line, column and code, in the order in which they were printed."""

    code: int
    findings: list[tuple[int, int, str]]
    text: str


def check(inventory: Path) -> Checked:
    """Check an inventory in the real command line; it must end in time, and never with a traceback."""
    done = subprocess.run(
        ["sh", "-c", f'{LIMITS} && exec "$0" "$@"', sys.executable, "-m", "sparkiac", "check", inventory],
        capture_output=True,
        text=True,
        timeout=600,  # a CPU limit does not end a process that waits
        check=False,
    )
    return read(inventory, done.returncode, done.stdout, done.stderr)


def read(inventory: Path, code: int, out: str, err: str) -> Checked:
    """Read what a check printed."""
    assert "Traceback" not in err
    assert out == ""
    found = list(_FINDING.finditer(err))
    assert {finding["file"] for finding in found} <= {str(inventory)}
    places = [(int(finding[2]), int(finding[3]), finding[5]) for finding in found]
    return Checked(code, places, err)
