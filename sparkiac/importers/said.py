"""What a server's command line says: options by the inventory's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sparkiac.importers.launch import Note


class Said(NamedTuple):
    """One option."""

    name: str
    """In snake_case, as under `set`."""
    value: Any
    line: int
    what: str
    """As the file spells it."""


class Line(NamedTuple):
    """A whole command line."""

    model: str | None
    """What is served, where a word of its own says it."""
    said: tuple[Said, ...]
    """Each option once."""
    notes: tuple[Note, ...]
