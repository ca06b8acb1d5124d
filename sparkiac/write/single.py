"""Replace one file, or leave it as it was."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_NEW_MODE = 0o644


def replace(path: Path, content: bytes) -> None:
    """Make the file at `path` hold these bytes. Killed at any moment, it is the former file or the new one.

    A symlink stays one: the file that it names is replaced. Its mode, owner and group are kept: whoever may not keep
    them replaces nothing. Raises `OSError`.
    """
    path = path.resolve()
    new = path.with_name(f".{path.name}.sparkiac-new")
    former = path.stat() if path.exists() else None
    mode = former.st_mode & 0o777 if former else _NEW_MODE
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        made = new.stat()
        if former and (former.st_uid, former.st_gid) != (made.st_uid, made.st_gid):
            os.chown(new, former.st_uid, former.st_gid)
        new.chmod(mode)
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise
