"""Put the staged tree in the target's place.

Linux exchanges two directories in one step, so a reader or a kill sees one whole tree or the other. A few
file systems (NFS, some FUSE and overlay mounts) and C libraries cannot. There it takes two renames:

    target -> old, new -> target

A kill between them leaves no target, and both trees whole; the next run finds `old` without a target, puts it
back and starts again. `old` beside a target is a replaced tree that was not deleted yet.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from sparkiac.write.place import Place

_AT_FDCWD = -100  # linux/fcntl.h
_RENAME_EXCHANGE = 2  # linux/fs.h
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})


def swap(place: Place) -> None:
    """Make `new` the target. The former tree is then at `new`, or at `old` after the fallback.

    Raises `OSError`. `lock.hold` cleans up after both outcomes.
    """
    code = exchange(place.new, place.target)
    if code in _UNSUPPORTED:
        place.target.rename(place.old)
        place.new.rename(place.target)
    elif code:
        raise OSError(code, os.strerror(code), str(place.new), None, str(place.target))


def exchange(one: Path, other: Path) -> int:
    """Exchange two paths atomically; return 0 or the error number."""
    try:
        import ctypes  # noqa: PLC0415 - most runs change nothing, and it is slow to import

        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (ImportError, AttributeError):
        return errno.ENOSYS
    done = renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
    return ctypes.get_errno() if done else 0
