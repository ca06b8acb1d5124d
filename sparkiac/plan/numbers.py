"""Format sizes, counts, ranges, images and unknown values for readers."""

from __future__ import annotations

from typing import Final

from sparkiac.memory.values import GIB, Unknown

_MIB: Final = 1 << 20
_SMALL: Final = 100 * _MIB
CAPTURE: Final = "run sparkiac images capture to read it"
_RUN_LOCK: Final = "run sparkiac lock to read it from the model hub"
_DRAFTS: Final = "run sparkiac lock to read them; if config.json has none, set speculative: null"
_SET_MEMORY: Final = "set memory.total_gib of the host"
_READ_LOG: Final = "run sparkiac memory --from-log to read it from a startup log"
_REMEDIES: Final = (
    ("layers of the drafter", _DRAFTS),
    ("config.json", _RUN_LOCK),
    ("weights", _RUN_LOCK),
    ("drafter", _RUN_LOCK),
    ("total memory", _SET_MEMORY),
    ("requested", _SET_MEMORY),
    ("CUDA graphs", _READ_LOG),
    ("model type", _READ_LOG),
    ("KV dtype", _READ_LOG),
    ("mamba_cache_mode", _READ_LOG),
)


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


def brief_image(pinned: str) -> str:
    """Return an image with 12 digits of its digest."""
    name, at, digest = pinned.partition("@sha256:")
    return f"{name}@{digest[:12]}" if at else pinned


def unknown(found: Unknown) -> str:
    """Return the text of an unknown value: which facts are missing, and how to provide them."""
    if not found.missing:
        return "unknown"
    names = tuple(dict.fromkeys(found.missing))
    return "; ".join((f"unknown, missing: {', '.join(names)}", *remedies(found)))


def remedies(found: Unknown) -> tuple[str, ...]:
    """Return how to provide the missing facts, as far as that is possible."""
    matching = (next((remedy for word, remedy in _REMEDIES if word in name), None) for name in found.missing)
    return tuple(dict.fromkeys(each for each in matching if each))
