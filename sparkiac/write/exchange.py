"""Exchange the staged tree and the target.

Linux exchanges two directories atomically, so a reader sees one of the two complete trees, even if the process is
killed. A few file systems (NFS, some FUSE and overlay mounts) and C libraries do not support this and need two renames:

    target -> old, new -> target

If the process is killed between them, there is no target, but both trees are complete: the next run finds `old`
without a target, renames it back and starts again. `old` beside a target is a replaced tree, which is then deleted.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from sparkiac.write.paths import TargetPaths

_AT_FDCWD = -100  # linux/fcntl.h
_RENAME_EXCHANGE = 2  # linux/fs.h
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})


def swap(paths: TargetPaths) -> None:
    """Make `new` the target. The former tree is then at `new`, or at `old` after two renames.

    Raises `OSError`. `lock.hold` cleans up after both outcomes.
    """
    code = exchange(paths.new, paths.target)
    if code in _UNSUPPORTED:
        # Between these two calls there is no target. This file system offers nothing better, and the next run recovers.
        paths.target.rename(paths.old)
        paths.new.rename(paths.target)
    elif code:
        raise OSError(code, os.strerror(code), str(paths.new), None, str(paths.target))


def exchange(one: Path, other: Path) -> int:
    """Exchange two paths atomically; return 0 or the error number."""
    try:
        import ctypes  # noqa: PLC0415  slow to import, and most runs change nothing

        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (ImportError, AttributeError):
        return errno.ENOSYS
    done = renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
    return ctypes.get_errno() if done else 0
