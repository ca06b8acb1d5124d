"""Exit codes, the same for every command."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit code of a command."""

    OK = 0
    """The command succeeded; a check found nothing."""
    FINDINGS = 1
    """A check found something: an error of the inventory, or a promise that a host does not keep."""
    BAD_INPUT = 2
    """Wrong usage, or an inventory that cannot be read, resolved or planned."""
    STALE = 3
    """Generated files are stale or were edited by hand, or a host differs from them."""
    LOCK = 4
    """The lock of the inventory is missing, incomplete or stale."""
    BUSY = 5
    """Another run works on the same files or hosts."""
    IO = 6
    """A read, write, program or connection failed."""
    INTERRUPTED = 130
    """Interrupted, such as by Ctrl-C."""
