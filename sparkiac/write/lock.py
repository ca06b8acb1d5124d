"""Lock a target for one run at a time, without a lock file.

The staging directory `new` is the lock: the run that has `flock` on it owns the target, whether the run created the
directory or found it after a killed run. The kernel releases the lock when the process ends. No directory is shared
with other targets, so that several inventories can be generated at the same time, and the first generation needs no
special case. A second run does not wait, because its result depends on the files it has read: it fails with `Busy`.

After the exchange, `new` is the former target, and another run could lock that directory while it is being deleted.
Therefore a run also locks the target, and `old` if there is one, before it moves anything. It then has a lock on every
inode that can get a staging name, and it deletes a path only while one of its locked inodes is there.

Each machine has its own `flock` on directories: it does not protect from another machine that writes to the same NFS
directory.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from sparkiac.write import tree
from sparkiac.write.preview import is_open_at
from sparkiac.write.staging import Busy, TargetPaths, UnsafeTarget

_TRIES = 20
"""A try fails only if another run ends in the microseconds between two system calls."""


@contextmanager
def hold(paths: TargetPaths) -> Iterator[None]:
    """Lock the target and provide an empty `new`; at the end, remove the staging directories.

    First, a tree that a killed run has renamed to `old` is renamed back. Raises `Busy`, `UnsafeTarget` if a staging
    name belongs to something other than a directory, and `OSError`.
    """
    with ExitStack() as closing:
        claims = [_claim_new(paths.new, closing)]
        try:
            claims += [claim for path in (paths.old, paths.target) if (claim := _claim(path, closing)) is not None]
            _finish_exchange(paths, claims)
            tree.clear(paths.new)
            yield
        except BaseException:
            with suppress(OSError):  # the first error is raised
                _clean_up(paths, claims)
            raise
        _clean_up(paths, claims)


def _claim_new(path: Path, closing: ExitStack) -> int:
    for _ in range(_TRIES):
        made = False
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
            made = True
        try:
            claim = _claim(path, closing)
        except OSError:
            if made:
                with suppress(OSError):
                    path.rmdir()
            raise
        if claim is not None:
            return claim
    raise _busy()


def _claim(path: Path, closing: ExitStack) -> int | None:
    """Lock a directory and return its descriptor; None if there is no such directory, or no longer."""
    try:
        claim = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in {errno.ENOTDIR, errno.ELOOP}:
            taken = {f"../{path.name}": "not a directory"}
            raise UnsafeTarget(taken, reason="the name of the staging directory is in use") from error
        raise
    closing.callback(os.close, claim)
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _busy() from None
    return claim if is_open_at(claim, path) else None


def _finish_exchange(paths: TargetPaths, claims: list[int]) -> None:
    """Complete or undo the two renames of a killed run: without a target, `old` is the only complete tree."""
    if not _holds(paths.old, claims):
        return
    if os.path.lexists(paths.target):
        tree.remove(paths.old)
    else:
        paths.old.rename(paths.target)


def _clean_up(paths: TargetPaths, claims: list[int]) -> None:
    _finish_exchange(paths, claims)
    if _holds(paths.new, claims):
        tree.remove(paths.new)


def _holds(path: Path, claims: list[int]) -> bool:
    return any(is_open_at(claim, path) for claim in claims)


def _busy() -> Busy:
    return Busy({".": "locked by another run"}, reason="another run is writing here")
