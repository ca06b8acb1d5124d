"""Texts for hints, such as suggestions of similar names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

_LISTED: Final = 20
_MEANINGFUL: Final = 3
"""Shortest part of a name, in letters, that the search for similar names uses."""
_SLIPS: Final = 2
"""Most letters in which a name and a slip of it differ."""
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
    """Suggest the known name that was meant, or list names that contain the word, or all names if there are few.

    Of a large family such as LCK001 to LCK033, none is named.
    """
    words = sorted(known)
    parts = word.lower().split("/")
    family = _containing([part.rstrip(_NUMBERED) for part in parts], words)
    similar = _containing(parts, words) or (family if len(family) <= _LISTED else [])
    found = closest(word, words) or _listed("similar names: ", similar)
    if found or len(words) <= _LISTED:
        return found or _listed("known: ", words)
    return f"none of the {len(words)} known names is similar"


def _containing(parts: Iterable[str], words: Iterable[str]) -> list[str]:
    long_enough = [part for part in parts if len(part) >= _MEANINGFUL]
    return [each for each in words if any(part in each.lower() for part in long_enough)]


def _listed(label: str, words: list[str]) -> str:
    return f"{label}{', '.join(words[:_LISTED])}{', …' if len(words) > _LISTED else ''}" if words else ""


def closest(word: str, known: Iterable[str]) -> str:
    """Return a hint with the known word that was meant, ignoring case; empty if none is that close."""
    meant = slip_of(word, known)
    return "" if meant is None else f"did you mean {meant!r}?"


def slip_of(word: str, known: Iterable[str]) -> str | None:
    """Return the known word from which a word differs by a slip: in one letter, or in two of six or more."""
    most = min(_SLIPS, len(word) // _MEANINGFUL)
    edits = {each: _edits(word.lower(), each.lower()) for each in known if abs(len(each) - len(word)) <= most}
    meant = max(edits, key=lambda each: (-edits[each], each), default=None)
    return meant if meant is not None and edits[meant] <= most else None


def _edits(first: str, second: str) -> int:
    """Return how many letters to insert, remove, replace, or swap with the next one."""
    rows: list[list[int]] = [[*range(len(second) + 1)]]
    for i, one in enumerate(first):
        row = [i + 1]
        for j, other in enumerate(second):
            least = min(row[j] + 1, rows[i][j + 1] + 1, rows[i][j] + (one != other))
            swapped = i and j and (first[i - 1], one) == (other, second[j - 1])
            row.append(min(least, rows[i - 1][j - 1] + 1) if swapped else least)
        rows.append(row)
    return rows[-1][-1]


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
