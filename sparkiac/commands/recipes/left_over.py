"""Fetched recipes of sources that no inventory names any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click

from sparkiac.pipeline import InputFile

_LOCK: Final = ".lock.yaml"
_LEFT: Final = (
    "sources/{source}: no inventory in {folder} names it; `sparkiac recipes fetch {name}` removes its recipes"
)


def left_over(inventory: InputFile) -> list[str]:
    """Return the fetched sources that neither this inventory nor one beside it names, sorted.

    If an inventory beside it is not readable, its sources are unknown, and none is left over.
    """
    from sparkiac import pipeline
    from sparkiac.resolve import sources

    left = {name for name, files in inventory.fetched.items() if files}
    for each in _inventories(inventory):
        if not left:
            break
        document = pipeline.read_inventory(each).document
        if not isinstance(document.data, dict):
            return []
        left -= set(sources.names(document))
    return sorted(left)


def _inventories(first: InputFile) -> Iterator[InputFile]:
    """Yield this inventory, which usually names all sources, then those beside it; each is read when it is needed."""
    from sparkiac import pipeline

    yield first
    for path in sorted(Path(first.name).parent.glob("*.yaml")):
        if path.is_file() and path != Path(first.name) and not path.name.endswith(_LOCK):
            yield pipeline.InputFile(str(path), path.read_bytes())


def print_left_over(inventory: InputFile) -> None:
    """Print a line for each fetched source that no inventory uses."""
    folder, name = Path(inventory.name).parent, click.format_filename(inventory.name)
    for source in left_over(inventory):
        click.echo(_LEFT.format(source=source, folder=folder, name=name), err=True)


def remove(inventory: InputFile, sources: Iterable[str]) -> None:
    """Remove the recipes of these sources, and the folders that are empty then."""
    for source in sources:
        for file in inventory.fetched[source]:
            path = Path(file.path)
            path.unlink()
            for folder in path.parents[: len(file.parts)]:
                if any(folder.iterdir()):
                    break
                folder.rmdir()
