"""What pre-commit calls: `sparkiac check` for every inventory among the changed files.

A lock stands for the inventory beside it: a change of either is checked, once, and no lock is taken for an inventory.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from sparkiac.__main__ import run

if TYPE_CHECKING:
    from collections.abc import Iterable

_ENDINGS: Final = (".yaml", ".yml")
_LOCK: Final = ".lock.yaml"


def main() -> NoReturn:
    """Check the files that the arguments name; the other arguments are options of `sparkiac check`."""
    words = sys.argv[1:]
    files = [word for word in words if word.endswith(_ENDINGS) and not word.startswith("-")]
    options = [word for word in words if word not in files]
    sys.exit(max((run(["check", *options, file]) for file in inventories(files)), default=0))


def inventories(files: Iterable[str]) -> list[str]:
    """Name each inventory once, also those whose lock alone is given."""
    return list(dict.fromkeys(map(_inventory, files)))


def _inventory(file: str) -> str:
    if not file.endswith(_LOCK):
        return file
    beside = [file.removesuffix(_LOCK) + ending for ending in _ENDINGS]
    return next((each for each in beside if Path(each).is_file()), beside[0])


if __name__ == "__main__":
    main()
