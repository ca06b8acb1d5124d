"""Exclusive use of a directory, and temporary directories that later runs remove if a run is killed."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from sparkiac.write import tree

SUFFIX: Final = ".sparkiac-new"
_RANDOM_BYTES: Final = 4


@contextmanager
def exclusive(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Lock a directory. The kernel releases the lock when the process ends, even if it is killed.

    Without `wait`, raises BlockingIOError if another run has the lock.
    """
    claim = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(claim)


def unique(prefix: str) -> str:
    """Return a name that no other run uses."""
    return f"{prefix}{os.urandom(_RANDOM_BYTES).hex()}{SUFFIX}"


def is_unique(name: str, prefix: str) -> bool:
    """Return whether `unique` can have returned this name."""
    return name.startswith(prefix) and name.endswith(SUFFIX) and len(name) == len(unique(prefix))


@contextmanager
def scratch(parent: Path, name: str) -> Iterator[Path]:
    """Yield an empty directory in `parent` and remove it afterwards. Directories of killed runs are removed first."""
    with ExitStack() as closing:
        with exclusive(parent.resolve()):  # so that no other run removes the new directory before it is locked
            _remove_leftovers(parent, name)
            folder = parent / unique(f".{name}-")
            folder.mkdir(mode=0o700)
            closing.enter_context(exclusive(folder))
        try:
            yield folder
        finally:
            tree.remove(folder)


def _remove_leftovers(parent: Path, name: str) -> None:
    """Remove the directories of `scratch` that no running process has locked."""
    for path in parent.iterdir():
        status = path.lstat()
        if is_unique(path.name, f".{name}-") and stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
            with suppress(BlockingIOError), exclusive(path, wait=False):
                tree.remove(path)
