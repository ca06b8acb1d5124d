"""Replace one file atomically, and use a directory alone. What a killed run leaves, later runs remove."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from sparkiac.write import tree
from sparkiac.write.staging import naming

SUFFIX: Final = ".sparkiac-new"
_RANDOM_BYTES: Final = 4
_NEW_MODE: Final = 0o644
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


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
            _remove_folders(parent, name)
            folder = parent / unique(f".{name}-")
            folder.mkdir(mode=0o700)
            closing.enter_context(exclusive(folder))
        try:
            yield folder
        finally:
            tree.remove(folder)


def _remove_folders(parent: Path, name: str) -> None:
    """Remove the directories of `scratch` that no running process has locked."""
    for path in parent.iterdir():
        status = path.lstat()
        if is_unique(path.name, f".{name}-") and stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
            with suppress(BlockingIOError), exclusive(path, wait=False):
                tree.remove(path)


def replace(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Replace the content of the file at `path`. If the process is killed, the file is the former or the new one.

    A symbolic link stays, and the file that it points to is replaced. Owner and group stay the same, and so does the
    mode if none is given; a user who cannot preserve them gets an error. Concurrent runs write one after the other.
    Raises `OSError`.
    """
    path = path.resolve()
    with exclusive(path.parent), naming(path):
        _remove_leftovers(path)
        new = path.with_name(unique(f".{path.name}."))
        try:
            _fill(new, content, former=path.stat() if path.exists() else None, mode=mode)
            new.replace(path)
        except BaseException:
            with suppress(OSError):
                new.unlink()
            raise


def _fill(new: Path, content: bytes, *, former: os.stat_result | None, mode: int | None) -> None:
    """Write the new file with the owner and group of the former one, and with its mode if none is given."""
    with os.fdopen(os.open(new, _FLAGS, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    made = new.stat()
    if former and (former.st_uid, former.st_gid) != (made.st_uid, made.st_gid):
        os.chown(new, former.st_uid, former.st_gid)
    usual = former.st_mode & 0o777 if former else _NEW_MODE
    new.chmod(usual if mode is None else mode)


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files of killed runs. The directory is locked, so no running process uses them."""
    for each in path.parent.iterdir():
        if is_unique(each.name, f".{path.name}.") and stat.S_ISREG(each.lstat().st_mode):
            each.unlink()
