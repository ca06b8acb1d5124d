"""Find templates/ and playbooks/: next to the package in a checkout, inside the package in an installed wheel.

Also the names of the catalog's entries, for the model, which the catalog imports.
"""

from __future__ import annotations

from collections.abc import Iterator
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


def entries(folder: str) -> Iterator[str]:
    """Return the names of the entries in a folder of the catalog, from the names of the files alone."""
    return (path.stem for path in (_PACKAGE / "catalog" / folder).glob("*.yaml"))
