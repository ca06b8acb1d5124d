"""The paths of a target and its two staging directories."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from sparkiac.write.errors import UnsafeTarget


class TargetPaths(NamedTuple):
    """The target and two directories beside it, on the same file system and with unusual names.

    The next tree is staged at `new`; after the exchange, the former tree is deleted there. `old` is used only where
    the file system does not support the exchange: see `exchange`.
    """

    target: Path
    new: Path
    old: Path

    @staticmethod
    def of(target: Path) -> TargetPaths:
        """Return the paths for `target`. Raises `UnsafeTarget` if it is a symlink, a file or the root directory."""
        if target.name in {"", ".."}:
            target = target.resolve()
        if not target.name:
            raise UnsafeTarget({".": "the target is the root directory"}, reason="cannot write here")
        try:
            mode = target.lstat().st_mode
        except FileNotFoundError:
            mode = stat.S_IFDIR
        if not stat.S_ISDIR(mode):
            kind = "a symlink" if stat.S_ISLNK(mode) else "not a directory"
            raise UnsafeTarget({".": f"the target is {kind}"}, reason=f"cannot write to {target}")
        return TargetPaths(
            target=target,
            new=target.with_name(f".{target.name}.sparkiac-new"),
            old=target.with_name(f".{target.name}.sparkiac-old"),
        )

    def current(self) -> Path | None:
        """Return the path of the current tree: `old` if a run was killed between the two renames of `exchange`.

        The target is checked twice, because another run can complete the renames between two checks.
        """
        candidates = (self.target, self.old, self.target)
        return next((path for path in candidates if path.is_dir() and not path.is_symlink()), None)

    def leftovers(self) -> bool:
        """Return whether another run is active or was killed."""
        return os.path.lexists(self.new) or os.path.lexists(self.old)
