"""Find templates/ and playbooks/: next to the package in a checkout, inside the package in an installed wheel.

Also the names of the catalog's entries, for the model, which the catalog imports.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parents[1]


def directory(name: str) -> Path:
    """Return the path of the asset directory `name`."""
    installed = _PACKAGE / "_assets" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def files(name: str) -> Iterator[tuple[str, Path]]:
    """Return (relative path, path) of every file below `name`, sorted, without caches and hidden files."""
    root = directory(name)
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.is_file() and not any(part.startswith(".") or part == "__pycache__" for part in parts):
            yield "/".join(parts), path


@cache
def imported(program: str) -> tuple[str, ...]:
    """Return the files of sparkiac/host that a program there imports when it starts, and the packages of these."""
    root = directory("sparkiac/host")
    found, pending = set[Path](), [root / program]
    while pending:
        path = pending.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        pending += (folder / "__init__.py" for folder in path.parents if folder.is_relative_to(root))
        for node in ast.parse(path.read_bytes()).body:  # not the imports in functions
            if isinstance(node, ast.ImportFrom) and node.level:
                base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                pending += (base.with_suffix(".py"), *(base / f"{each.name}.py" for each in node.names))
    return tuple(sorted(path.relative_to(root).as_posix() for path in found))


def entries(folder: str) -> Iterator[str]:
    """Return the names of the entries in a folder of the catalog, from the names of the files alone."""
    return (path.stem for path in (_PACKAGE / "catalog" / folder).glob("*.yaml"))
