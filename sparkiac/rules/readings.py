"""Helpers for rules about options: parse numbers, and read the values of a recipe."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from sparkiac import catalog
from sparkiac.resolve import catalogued

if TYPE_CHECKING:
    from sparkiac.plan import Container

_COUNT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKmM]?)")
_DIRECTORY: Final = "model_path"
_UNITS: Final = {"": 1, "k": 1000, "K": 1024, "m": 1000**2, "M": 1024**2}


def count(container: Container, option: str) -> int | None:
    """Return the integer value of an option; None if it is not set."""
    found = quantity(container.server.options.get(option))
    return None if found is None else int(found)


def quantity(value: object) -> float | None:
    """Parse a number with an optional suffix, as vLLM does: 64k is 64000, 64K is 65536. None for other text."""
    found = _COUNT.fullmatch(str(value))
    return float(found[1]) * _UNITS[found[2]] if found else None


@cache
def served_from_directory(model: str) -> str | None:
    """Return the first catalog entry that serves a model, if all such entries serve it from a directory.

    Entries are parsed only if the text of one names both.
    """
    if set(catalog.holding(f"model: {model}")).isdisjoint(catalog.holding(f"{_DIRECTORY}:")):
        return None
    first = None
    for each in catalogued.serving(model):
        if _DIRECTORY not in each.values:
            return None
        first = first or each.name
    return first
