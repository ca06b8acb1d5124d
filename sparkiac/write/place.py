"""Where a target and its two staging names are."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from sparkiac.write.errors import Unsafe

if TYPE_CHECKING:
    from pathlib import Path


class Place(NamedTuple):
    """The target and its siblings: on the same file system, and named so that no person would.

    `new` is where the next tree is staged and, after the exchange, where the former one is deleted.
    `old` exists only where the file system cannot exchange: see `exchange`.
    """

    target: Path
    new: Path
    old: Path

    @staticmethod
    def of(target: Path) -> Place:
        """Name the siblings of `target`.

        Raises `Unsafe` when the target is a symlink or a file, or has no parent.
        """
        if target.name in {"", ".."}:
            target = target.resolve()
        if not target.name:
            raise Unsafe({".": "the target is the root directory"}, reason="cannot write here")
        try:
            mode = target.lstat().st_mode
        except FileNotFoundError:
            mode = stat.S_IFDIR
        if not stat.S_ISDIR(mode):
            kind = "a symlink" if stat.S_ISLNK(mode) else "not a directory"
            raise Unsafe({".": f"the target is {kind}"}, reason=f"cannot write to {target}")
        return Place(
            target=target,
            new=target.with_name(f".{target.name}.sparkiac-new"),
            old=target.with_name(f".{target.name}.sparkiac-old"),
        )

    def current(self) -> Path | None:
        """Where the present tree is: at `old` if a run died between the two renames of the fallback.

        The target is looked at twice: a fallback may complete between the first look and the second.
        """
        looks = (self.target, self.old, self.target)
        return next((path for path in looks if path.is_dir() and not path.is_symlink()), None)

    def leftovers(self) -> bool:
        """Tell whether a run is going on here, or died here."""
        return os.path.lexists(self.new) or os.path.lexists(self.old)
