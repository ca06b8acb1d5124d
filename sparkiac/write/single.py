"""Replace one file atomically."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from sparkiac.write.errors import naming
from sparkiac.write.scratch import exclusive, is_unique, unique

_NEW_MODE: Final = 0o644
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


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
