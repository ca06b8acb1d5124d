"""One run at a time in a directory, and the removal of what killed runs left there."""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from sparkiac.write import tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SUFFIX: Final = ".sparkiac-new"
_RANDOM_BYTES: Final = 4


@contextmanager
def held(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold a directory while no other run does. The kernel lets it go with the process, however that ends.

    Without `wait`, raises BlockingIOError if another run holds it.
    """
    claim = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(claim)


def unique(prefix: str) -> str:
    """Give a name that no other run has."""
    return f"{prefix}{os.urandom(_RANDOM_BYTES).hex()}{SUFFIX}"


def is_unique(name: str, prefix: str) -> bool:
    """Whether `unique` may have given this name."""
    return name.startswith(prefix) and name.endswith(SUFFIX) and len(name) == len(unique(prefix))


@contextmanager
def scratch(parent: Path, name: str) -> Iterator[Path]:
    """Give an empty directory for `name` in `parent`, and remove it at the end; those of killed runs go first."""
    with ExitStack() as closing:
        with held(parent.resolve()):  # nobody sweeps between the next two lines
            _sweep(parent, name)
            folder = parent / unique(f".{name}-")
            folder.mkdir(mode=0o700)
            closing.enter_context(held(folder))
        try:
            yield folder
        finally:
            tree.remove(folder)


def _sweep(parent: Path, name: str) -> None:
    """Remove the directories of `scratch` that no living run holds."""
    for path in parent.iterdir():
        status = path.lstat()
        if is_unique(path.name, f".{name}-") and stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
            with suppress(BlockingIOError), held(path, wait=False):
                tree.remove(path)
