"""Texts for hints, such as suggestions of similar names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

_LISTED: Final = 16
_MEANINGFUL: Final = 3
"""Shortest part of a name, in letters, that the search for similar names uses."""
_LIKE: Final = 0.5
"""Lowest similarity of two names, from 0 to 1, of which one is a hint for the other."""
_NUMBERED: Final = "0123456789.-_"
"""Characters that may follow the name of a family: gemma4 belongs to gemma."""

PLAYBOOK_STOPS: Final = "ansible-playbook stops in its first task."
PODS_FAIL: Final = "Pods with these images or models do not start."
"""What happens if a tree without real pins is applied, by Ansible and on Kubernetes."""


LOCK_IT: Final = "run sparkiac lock"
"""Beginning of the hints of all findings that a new lock settles."""
OPEN_POINT: Final = "OPN001"
"""Code of a placeholder."""


def placeholders(count: int) -> str:
    """Return a number of placeholders as text."""
    return "1 placeholder" if count == 1 else f"{count} placeholders"


def nearest(word: str, known: Iterable[str]) -> str:
    """Suggest the closest known name, or list names that contain the word, or all names if there are few.

    Of many names that are all unlike the word, none is named; of a large family such as LCK001 to LCK033, the nearest.
    """
    words = sorted(known)
    parts = word.lower().split("/")
    family = _containing([part.rstrip(_NUMBERED) for part in parts], words)
    similar = _containing(parts, words) or (family if len(family) <= _LISTED else [])
    found = closest(word, words) or _listed("similar names: ", similar)
    if found or len(words) <= _LISTED:
        return found or _listed("known: ", words)
    likeliest = _closest(word, words, least=_LIKE)
    return f"the nearest name is {likeliest!r}" if likeliest else f"none of the {len(words)} known names is similar"


def _containing(parts: Iterable[str], words: Iterable[str]) -> list[str]:
    long_enough = [part for part in parts if len(part) >= _MEANINGFUL]
    return [each for each in words if any(part in each.lower() for part in long_enough)]


def _listed(label: str, words: list[str]) -> str:
    return f"{label}{', '.join(words[:_LISTED])}{', …' if len(words) > _LISTED else ''}" if words else ""


def closest(word: str, known: Iterable[str]) -> str:
    """Return a hint with the closest known word, ignoring case; empty if none is close."""
    by_lower = {each.lower(): each for each in known}
    close = _closest(word.lower(), by_lower, least=0.6)
    return f"did you mean {by_lower[close]!r}?" if close is not None else ""


def _closest(word: str, known: Iterable[str], *, least: float) -> str | None:
    """Return the most similar known word, or None if none has this similarity, from 0 to 1."""
    from difflib import get_close_matches  # noqa: PLC0415  only a mistake needs it

    return next(iter(get_close_matches(word, known, n=1, cutoff=least)), None)


def ranges(found: Iterable[str], known: Sequence[str]) -> str:
    """Return releases as text, with neighbours in the order of `known` joined: 0.5.1 to 0.5.4, 0.5.9."""
    spans: list[list[str]] = []
    for release in found:
        if spans and known.index(spans[-1][-1]) + 1 == known.index(release):
            spans[-1].append(release)
        else:
            spans.append([release])
    return ", ".join(span[0] if len(span) == 1 else f"{span[0]} to {span[-1]}" for span in spans)


def unpinned_notice(unpinned: Collection[str], inventory: str = "INVENTORY", *, result: str = PLAYBOOK_STOPS) -> str:
    """Return a notice that a tree with these example or missing pins cannot be applied; empty if there are none."""
    if not unpinned:
        return ""
    pins = "1 pin is an example or missing" if len(unpinned) == 1 else f"{len(unpinned)} pins are examples or missing"
    return f"Cannot be applied: {pins}. {result} Run `sparkiac lock {inventory}`, then `sparkiac generate {inventory}`."


def build_hint(name: str) -> str:
    """Explain how to build an image that no registry has and how to record it in the lock."""
    script = f"builds/{name}/build RECORD"
    return f"generate it with --allow-unlocked, run {script} on a Spark, then `sparkiac lock INVENTORY --record RECORD`"
