"""Sizes, and what is not known of them. An unknown result carries the names of the facts that lack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

GIB: Final = 1 << 30


class Unknown(NamedTuple):
    """A result that cannot be worked out. It is never a pass: who reads a result asks for this first."""

    missing: tuple[str, ...]
    """Names of the facts that lack."""


class Term(NamedTuple):
    """One share of a host's memory."""

    name: str
    size_bytes: int | None
    """None if it is not known."""
    source: str
    """Where the size comes from."""
    assumed: bool = False
    """True if no measurement of this model on this host stands behind it."""


def total_bytes(terms: Iterable[Term]) -> int | Unknown:
    """Add up terms; name those whose size is not known."""
    listed = tuple(terms)
    lacking = tuple(term.name for term in listed if term.size_bytes is None)
    return Unknown(lacking) if lacking else known_bytes(listed)


def known_bytes(terms: Iterable[Term]) -> int:
    """Add up what is known of terms: a lower bound of their sum."""
    return sum(term.size_bytes or 0 for term in terms)


def lacking(*results: object) -> Unknown | None:
    """Join what several results lack; None if all are known."""
    names = [name for result in results if isinstance(result, Unknown) for name in result.missing]
    return Unknown(tuple(dict.fromkeys(names))) if names else None


def parts(whole: int, size: int) -> int:
    """Divide and round up: how many pieces of a size cover the whole."""
    return -(-whole // size)
