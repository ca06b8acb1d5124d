"""A target: the errors that prevent writing, its two staging directories, and their exchange.

Input and output errors stay `OSError`.

Linux exchanges two directories atomically, so a reader sees one of the two complete trees, even if the process is
killed. A few file systems (NFS, some FUSE and overlay mounts) and C libraries do not support this and need two renames:

    target -> old, new -> target

If the process is killed between them, there is no target, but both trees are complete: the next run finds `old`
without a target, renames it back and starts again. `old` beside a target is a replaced tree, which is then deleted.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sparkiac.report.characters import escaped_line

_AT_FDCWD = -100  # linux/fcntl.h
_RENAME_EXCHANGE = 2  # linux/fs.h
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})


class WriteError(Exception):
    """Nothing was written. `reason` is the error, and `problems` has the problem of each path.

    Paths are relative to the target (`.` is the target itself) and sorted.
    """

    def __init__(self, problems: Mapping[str, str], *, reason: str) -> None:
        """Sort the problems by path, and make the paths printable even if a name is not UTF-8."""
        super().__init__(problems, reason)
        self.reason = reason
        self.problems = {escaped_line(path): problems[path] for path in sorted(problems)}

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths with a problem, sorted."""
        return tuple(self.problems)

    def __str__(self) -> str:
        """Return the reason, followed by a line for each path."""
        return "\n".join([self.reason, *(f"  {path}: {problem}" for path, problem in self.problems.items())])


class WouldOverwrite(WriteError):  # noqa: N818
    """Writing would overwrite files that were edited by hand or not written by sparkiac. `force` overwrites them."""


class UnsafeTarget(WriteError):  # noqa: N818
    """The target, or a path in it, is not a plain file or directory. `force` does not help."""


class Busy(WriteError):  # noqa: N818
    """Another run is writing the same target."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the path to an OSError without a file name, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


class TargetPaths(NamedTuple):
    """The target and two directories beside it, on the same file system and with unusual names.

    The next tree is staged at `new`; after the exchange, the former tree is deleted there. `old` is used only where
    the file system does not support the exchange: see `exchange`.
    """

    target: Path
    new: Path
    old: Path

    @staticmethod
    def of(target: Path) -> TargetPaths:
        """Return the paths for `target`. Raises `UnsafeTarget` if it is a symlink, a file or the root directory."""
        if target.name in {"", ".."}:
            target = target.resolve()
        if not target.name:
            raise UnsafeTarget({".": "the target is the root directory"}, reason="cannot write here")
        try:
            mode = target.lstat().st_mode
        except FileNotFoundError:
            mode = stat.S_IFDIR
        if not stat.S_ISDIR(mode):
            kind = "a symlink" if stat.S_ISLNK(mode) else "not a directory"
            raise UnsafeTarget({".": f"the target is {kind}"}, reason=f"cannot write to {target}")
        return TargetPaths(
            target=target,
            new=target.with_name(f".{target.name}.sparkiac-new"),
            old=target.with_name(f".{target.name}.sparkiac-old"),
        )

    def current(self) -> Path | None:
        """Return the path of the current tree: `old` if a run was killed between the two renames of `exchange`.

        The target is checked twice, because another run can complete the renames between two checks.
        """
        candidates = (self.target, self.old, self.target)
        return next((path for path in candidates if path.is_dir() and not path.is_symlink()), None)

    def leftovers(self) -> bool:
        """Return whether another run is active or was killed."""
        return os.path.lexists(self.new) or os.path.lexists(self.old)


def swap(paths: TargetPaths) -> None:
    """Replace the target by `new`. The former tree is then at `new`, or at `old` after two renames.

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
