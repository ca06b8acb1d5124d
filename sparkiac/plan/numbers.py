"""Format sizes, counts and ranges for readers. An unknown size is written as `unknown`."""

from __future__ import annotations

from typing import Final

from sparkiac.memory.values import GIB

_MIB: Final = 1 << 20
_SMALL: Final = 100 * _MIB


def gib(size_bytes: int | None) -> str:
    """Format a size in GiB, or in MiB if it is small; None gives `unknown`."""
    if size_bytes is None:
        return "unknown"
    return f"{size_bytes / _MIB:.0f} MiB" if 0 < size_bytes < _SMALL else f"{size_bytes / GIB:.1f} GiB"


def over_budget(size_bytes: int) -> str:
    """Format an excess over the available memory: 53.5 GiB over budget."""
    return f"{gib(size_bytes)} over budget"


def count(number: int) -> str:
    """Format an integer with thousands separators: 65,536."""
    return f"{number:,}"


def figure(number: float) -> str:
    """Format an estimate with about two significant digits: 0.41, 3.2, 118."""
    places = 0 if number >= 10 else 1 if number >= 1 else 2  # noqa: PLR2004  two digits are enough for a range
    return f"{number:,.{places}f}"


def span(low: float, high: float, unit: str) -> str:
    """Format a range: 41 to 96 tokens/s."""
    first, last = figure(low), figure(high)
    return f"{first} {unit}" if first == last else f"{first} to {last} {unit}"
