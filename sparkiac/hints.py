"""Words for hints."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_LISTED: Final = 12
_MEANINGFUL: Final = 3
"""Letters from which on a part of a name says something."""
_NUMBERED: Final = "0123456789.-_"
"""What may stand behind a family's name: gemma4 is of gemma."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Name the closest known word, or list those that hold it, or all if they are few, or else the least unlike one."""
    words = sorted(known)
    parts = word.lower().split("/")
    similar = _holding(parts, words) or _holding([part.rstrip(_NUMBERED) for part in parts], words)
    found = closest(word, words) or _listed("similar names: ", similar)
    if found or len(words) <= _LISTED:
        return found or _listed("known: ", words)
    return f"the nearest name is {difflib.get_close_matches(word, words, n=1, cutoff=0)[0]!r}"


def _holding(parts: Iterable[str], words: Iterable[str]) -> list[str]:
    telling = [part for part in parts if len(part) >= _MEANINGFUL]
    return [each for each in words if any(part in each.lower() for part in telling)]


def _listed(label: str, words: list[str]) -> str:
    return f"{label}{', '.join(words[:_LISTED])}{', …' if len(words) > _LISTED else ''}" if words else ""


def closest(word: str, known: Iterable[str]) -> str:
    """Return a hint with the closest known word, whatever its case; empty if none is close."""
    by_lower = {each.lower(): each for each in known}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return f"did you mean {by_lower[close[0]]!r}?" if close else ""


def unpinned_notice(unpinned: Collection[str], inventory: str = "INVENTORY") -> str:
    """Say that a tree with these pins cannot be applied; nothing if there are none."""
    if not unpinned:
        return ""
    pins = "1 pin is an example or missing" if len(unpinned) == 1 else f"{len(unpinned)} pins are examples or missing"
    return (
        f"Cannot be applied: {pins}. ansible-playbook stops in its first task. "
        f"Run `sparkiac lock {inventory}`, then `sparkiac generate {inventory}`."
    )


def build_it(name: str) -> str:
    """Say how an image that no registry has comes into being, and into the lock."""
    script = f"builds/{name}/build RECORD"
    return f"generate it with --allow-unlocked, run {script} on a Spark, then `sparkiac lock INVENTORY --record RECORD`"
