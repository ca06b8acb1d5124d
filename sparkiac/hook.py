"""The pre-commit hook: run `sparkiac check` for every inventory that the changed files affect.

A changed lock affects the inventory next to it. A changed `interfaces/*.json`, which holds the vLLM options of one
image, affects all inventories next to that directory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Final, NoReturn

from sparkiac.console import finish, run

_ENDINGS: Final = (".yaml", ".yml")
_LOCK: Final = ".lock.yaml"
_INTERFACES: Final = "interfaces/*.json"


def main() -> NoReturn:
    """Check the files among the arguments; pass the other arguments to `sparkiac check` as options."""
    finish(lambda: check(sys.argv[1:]))


def check(words: list[str]) -> int:
    """Check all inventories and return the highest exit code."""
    files = [word for word in words if _is_file(word) and not word.startswith("-")]
    options = [word for word in words if word not in files]
    return max((run(["check", *options, file]) for file in inventories(files)), default=0)


def inventories(files: Iterable[str]) -> list[str]:
    """Return the inventories that these files affect, each once."""
    return list(dict.fromkeys(each for file in files for each in _inventories(file)))


def _is_file(word: str) -> bool:
    return word.endswith(_ENDINGS) or PurePath(word).match(_INTERFACES)


def _inventories(file: str) -> list[str]:
    if file.endswith(_LOCK):
        beside = [file.removesuffix(_LOCK) + ending for ending in _ENDINGS]
        return [next((each for each in beside if Path(each).is_file()), beside[0])]
    if file.endswith(_ENDINGS):
        return [file]
    found = sorted(str(each) for each in Path(file).parent.parent.iterdir() if each.suffix in _ENDINGS)
    return [each for each in found if not each.endswith(_LOCK)]


if __name__ == "__main__":
    main()
