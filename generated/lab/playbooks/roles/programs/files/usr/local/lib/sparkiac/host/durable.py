"""Change files so that a power cut leaves the old or the new content.

Every function returns only after the change is on the disk: the file and its directory are synchronised.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


def sync_directory(path: Path) -> None:
    """Write the entries of a directory to the disk."""
    handle = os.open(str(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_directory(path: Path, mode: int = 0o755) -> None:
    """Create a directory and its parents; an existing directory keeps its mode."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(mode=mode, exist_ok=True)
    sync_directory(path.parent)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add a path to an error of the system that names none, as that of a full disk."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def write(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace a file. Only its new content or its old content exists at any time."""
    make_directory(path.parent)
    handle, name = tempfile.mkstemp(dir=str(path.parent), prefix=f".{path.name}.", suffix=".new")
    try:
        with naming(path), os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(name, str(path))  # noqa: PTH105 - tests record the call
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def rename(old: Path, new: Path) -> None:
    """Rename a file or directory within a file system."""
    os.replace(str(old), str(new))  # noqa: PTH105
    sync_directory(new.parent)


def exchange(one: Path, other: Path) -> None:
    """Exchange two paths of one file system."""
    import ctypes  # noqa: PLC0415 - slow to import

    directory, flag = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(directory, os.fsencode(one), directory, os.fsencode(other), flag):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(other))
    sync_directory(other.parent)


def link(path: Path, target: Path) -> None:
    """Create a symbolic link, or point it at another target."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    rename(new, path)


def remove(path: Path) -> None:
    """Remove a file that may be missing."""
    try:
        os.unlink(str(path))  # noqa: PTH108
    except FileNotFoundError:
        return
    sync_directory(path.parent)
