"""Sizes, unknown results with the names of the missing facts, and a reader that collects these names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

GIB: Final = 1 << 30


class Unknown(NamedTuple):
    """A result that cannot be computed. It never counts as a pass."""

    missing: tuple[str, ...]
    """Names of the missing facts."""


class Term(NamedTuple):
    """One part of the memory of a host."""

    name: str
    size_bytes: int | None
    """None if unknown."""
    source: str
    """Source of the size."""
    assumed: bool = False
    """Whether the size is an assumption, not a measurement of this model on this host."""
    low_bytes: int | None = None
    """Smallest size, if this server differs from the formula as recorded starts do; None if nothing is known of it."""
    high_bytes: int | None = None
    """Largest size, likewise."""

    def between(self, low: float, high: float) -> Term:
        """Return the term with its smallest and largest size, as shares of its size."""
        size = self.size_bytes
        return self if size is None else self._replace(low_bytes=int(size * low), high_bytes=math.ceil(size * high))


def total_bytes(terms: Iterable[Term]) -> int | Unknown:
    """Return the sum of the terms, or the names of the terms whose size is unknown."""
    listed = tuple(terms)
    unknown = tuple(term.name for term in listed if term.size_bytes is None)
    return Unknown(unknown) if unknown else known_bytes(listed)


def known_bytes(terms: Iterable[Term]) -> int:
    """Return the sum of the known terms: a lower bound."""
    return sum(term.size_bytes or 0 for term in terms)


def unknown_of(*results: object) -> Unknown | None:
    """Return the missing facts of several results; None if all are known."""
    names = [name for result in results if isinstance(result, Unknown) for name in result.missing]
    return Unknown(tuple(dict.fromkeys(names))) if names else None


def ceil_div(whole: int, size: int) -> int:
    """Return the quotient, rounded up."""
    return -(-whole // size)


def not_negative(size_bytes: int | None) -> int | None:
    """Return the size; None if it is unknown or negative, as rounded figures of a log can be."""
    return None if size_bytes is None or size_bytes < 0 else size_bytes


class ConfigReader:
    """Reads a configuration by name and collects missing names."""

    def __init__(self, config: Mapping[str, object], *, missing: list[str] | None = None) -> None:
        """Read from parsed JSON. Missing names are added to `missing`, or to a new list."""
        self.config = config
        self.missing: list[str] = [] if missing is None else missing

    def found(self, *names: str) -> int | None:
        """Return the count of the first name that has one."""
        for name in names:
            value = self.config.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                return value
        return None

    def number(self, *names: str) -> int:
        """Return the first of these keys that has a number; if none has, add the first key to the missing ones."""
        value = self.found(*names)
        if value is None:
            self.missing.append(names[0])
        return value or 0

    def words(self, name: str) -> tuple[object, ...]:
        """Return a list; empty if there is none."""
        value = self.config.get(name)
        return tuple(value) if isinstance(value, Sequence) else ()

    def section(self, name: str) -> ConfigReader:
        """Return a section; empty if there is none. Its missing names are recorded here."""
        value = self.config.get(name)
        return ConfigReader(value if isinstance(value, Mapping) else {}, missing=self.missing)
