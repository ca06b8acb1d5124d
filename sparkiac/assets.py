"""Finds templates/ and playbooks/: beside the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGE: Final = Path(__file__).parent


def directory(name: str) -> Path:
    """Give the directory of assets called `name`."""
    installed = _PACKAGE / "_assets" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def files(name: str) -> Iterator[tuple[str, Path]]:
    """Give every file below `name` as (relative path, path), sorted; caches and hidden files are left out."""
    root = directory(name)
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.is_file() and not any(part.startswith(".") or part == "__pycache__" for part in parts):
            yield "/".join(parts), path
