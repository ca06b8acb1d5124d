"""Exit codes, the same for every command."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit code of a command."""

    OK = 0
    FINDINGS = 1
    BAD_INPUT = 2
    STALE = 3
    LOCK = 4
    BUSY = 5
    IO = 6
    INTERRUPTED = 130
