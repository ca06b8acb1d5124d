"""Replace one file, or leave it as it was."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from sparkiac.write.errors import naming
from sparkiac.write.held import held, is_unique, unique

if TYPE_CHECKING:
    from pathlib import Path

_NEW_MODE: Final = 0o644
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def replace(path: Path, content: bytes) -> None:
    """Make the file at `path` hold these bytes. Killed at any moment, it is the former file or the new one.

    A symlink stays one: the file that it names is replaced. Its mode, owner and group are kept: whoever may not keep
    them replaces nothing. Of several runs one writes after the other. Raises `OSError`.
    """
    path = path.resolve()
    with held(path.parent), naming(path):
        _sweep(path)
        new = path.with_name(unique(f".{path.name}."))
        try:
            _fill(new, content, former=path.stat() if path.exists() else None)
            new.replace(path)
        except BaseException:
            with suppress(OSError):
                new.unlink()
            raise


def _fill(new: Path, content: bytes, *, former: os.stat_result | None) -> None:
    """Write the new file, which gets mode, owner and group of the former one."""
    with os.fdopen(os.open(new, _FLAGS, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    made = new.stat()
    if former and (former.st_uid, former.st_gid) != (made.st_uid, made.st_gid):
        os.chown(new, former.st_uid, former.st_gid)
    new.chmod(former.st_mode & 0o777 if former else _NEW_MODE)


def _sweep(path: Path) -> None:
    """Remove what killed runs left beside a file. Its directory is held, so no living run has such a file."""
    for each in path.parent.iterdir():
        if is_unique(each.name, f".{path.name}.") and stat.S_ISREG(each.lstat().st_mode):
            each.unlink()
