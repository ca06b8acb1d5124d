"""Sizes, unknown results with the names of the missing facts, and a reader that collects these names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

MIB: Final = 1 << 20
GIB: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Unknown:
    """A result that cannot be computed. It never counts as a pass, and cannot be added, not even with `or 0`."""

    missing: tuple[str, ...]
    """Names of the missing facts."""


Quantity: TypeAlias = int | Unknown
"""A size in bytes, if it is known."""


class Term(NamedTuple):
    """One part of the memory of a host."""

    name: str
    size_bytes: Quantity
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
        if isinstance(size, Unknown):
            return self
        return self._replace(low_bytes=int(size * low), high_bytes=math.ceil(size * high))


def quantity(size_bytes: int | None, name: str) -> Quantity:
    """Return a size; None becomes `Unknown` with this name."""
    return Unknown((name,)) if size_bytes is None else size_bytes


def known_bytes(size: Quantity) -> int | None:
    """Return a size for tables and comparisons; None if it is unknown."""
    return None if isinstance(size, Unknown) else size


def total_bytes(terms: Iterable[Term]) -> Quantity:
    """Return the sum of the terms, or the names of the terms whose size is unknown."""
    listed = tuple(terms)
    unknown = tuple(term.name for term in listed if isinstance(term.size_bytes, Unknown))
    return Unknown(unknown) if unknown else least_bytes(listed)


def least_bytes(terms: Iterable[Term]) -> int:
    """Return a lower bound of the sum: the known terms."""
    return sum(term.size_bytes for term in terms if not isinstance(term.size_bytes, Unknown))


def less(whole: Quantity, part: Quantity) -> Quantity:
    """Return the rest of a size, or the names of what is unknown."""
    if isinstance(whole, Unknown) or isinstance(part, Unknown):
        return Unknown(tuple(name for each in (whole, part) if isinstance(each, Unknown) for name in each.missing))
    return whole - part


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
