"""Words for hints."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_LISTED: Final = 12


def nearest(word: str, known: Iterable[str]) -> str:
    """Name the closest known word, or list what there is when that is short enough to read."""
    words = sorted(known)
    shown = ", ".join(words[:_LISTED]) + (", …" if len(words) > _LISTED else "")
    return closest(word, words) or (f"known: {shown}" if words else "")


def closest(word: str, known: Iterable[str]) -> str:
    """Name the closest known word if one is close."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else ""


def build_it(name: str) -> str:
    """Say how an image that no registry has comes into being, and into the lock."""
    script = f"builds/{name}/build RECORD"
    return f"generate it with --allow-unlocked, run {script} on a Spark, then `sparkiac lock INVENTORY --record RECORD`"
