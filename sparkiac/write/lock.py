"""One run at a time, without a lock file.

The staging directory `new` is the lock: whoever makes it, or finds it left by a dead run, and gets `flock` on
it owns the place. The kernel drops the lock with the process, however it dies. This needs no directory that
others share, so inventories that generate side by side never meet, and it is the same for the first
generation, when there is no target to lock. Nobody waits: a run takes milliseconds, and what a second one
would write depends on what it reads, so it says `Busy` and is run again.

After the exchange the name `new` is the former target, and another run could lock *that* while it is being
deleted. So a run locks the target (and a leftover `old`) as well, before it moves anything. It holds, then,
all inodes that can get a staging name, and it deletes by a name only while an inode that it holds is there.

`flock` on a directory is kept by each machine's kernel for itself: two machines that write to one NFS
directory at the same time are not protected from each other.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from sparkiac.write import tree
from sparkiac.write.errors import Busy, Unsafe
from sparkiac.write.preview import is_open_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sparkiac.write.place import Place

_TRIES = 20
"""Each try fails only if another run ended in the microseconds between two calls of this one."""


@contextmanager
def hold(place: Place) -> Iterator[None]:
    """Own the place, with an empty `new`; at the end remove what is at the staging names.

    A tree that a dead run left aside is put back first. Raises `Busy`, `Unsafe` when something else than a
    directory has a staging name, and `OSError`.
    """
    with ExitStack() as closing:
        held = [_claim_new(place.new, closing)]
        try:
            held += [claim for path in (place.old, place.target) if (claim := _claim(path, closing)) is not None]
            _settle_old(place, held)
            tree.clear(place.new)
            yield
        except BaseException:
            with suppress(OSError):  # the first error is the one to tell
                _tidy(place, held)
            raise
        _tidy(place, held)


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
    """Lock a directory; None when there is none, or no longer."""
    try:
        claim = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in {errno.ENOTDIR, errno.ELOOP}:
            taken = {f"../{path.name}": "not a directory"}
            raise Unsafe(taken, reason="a name that sparkiac stages at is taken") from error
        raise
    closing.callback(os.close, claim)
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _busy() from None
    return claim if is_open_at(claim, path) else None


def _settle_old(place: Place, held: list[int]) -> None:
    """Complete or undo a fallback exchange: without a target, `old` is the only whole tree."""
    if not _holds(place.old, held):
        return
    if os.path.lexists(place.target):
        tree.remove(place.old)
    else:
        place.old.rename(place.target)


def _tidy(place: Place, held: list[int]) -> None:
    _settle_old(place, held)
    if _holds(place.new, held):
        tree.remove(place.new)


def _holds(path: Path, held: list[int]) -> bool:
    return any(is_open_at(claim, path) for claim in held)


def _busy() -> Busy:
    return Busy({".": "locked by another run"}, reason="another run is writing here")
