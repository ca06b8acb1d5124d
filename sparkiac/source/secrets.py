"""Literals where a reference to a secret is wanted: they are refused, and never printed.

A finding shows the user's own line, so what must not be shown is taken out of the document's lines, for every
finding and every later stage. Stars keep the columns right; they tell no more than the finding's end column.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from sparkiac.model.base import SECRET_KEYS
from sparkiac.model.forms import SECRET

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sparkiac.report import Mark

WANTED: Final = "write {secret: NAME} and put the value into a vault; if this was a real secret, change it now"
_NAMES: Final = frozenset(key.replace("_", "") for key in SECRET_KEYS)
_REFERENCE: Final = r"""["']?\s*:\s*\{\s*secret\s*:\s*["']?[a-z0-9_-]+["']?\s*\}"""
_IN_TEXT: Final = re.compile(
    rf"(?<![A-Za-z0-9_-])({'|'.join(key.replace('_', '[_-]?') for key in sorted(SECRET_KEYS))})(?!{_REFERENCE})",
    re.IGNORECASE,
)


def is_secret(key: str) -> bool:
    """Whether the value of this key is a secret's reference, however the key is spelt."""
    return key.lower().replace("_", "").replace("-", "") in _NAMES


def is_reference(value: object) -> bool:
    """Whether a value is {secret: NAME} and nothing else."""
    if not isinstance(value, dict) or value.keys() != {"secret"}:
        return False
    return isinstance(value["secret"], str) and re.fullmatch(SECRET, value["secret"]) is not None


def without(text: str, marks: Iterable[Mark]) -> str:
    """Put stars over marked stretches of a text; its lines keep their lengths."""
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    pieces, done = [], 0
    for mark in sorted(marks):
        start = max(done, starts[mark.line - 1] + mark.column - 1)
        end = max(start, starts[mark.end_line - 1] + mark.end_column - 1)
        pieces += [text[done:start], _stars(text[start:end])]
        done = end
    return "".join((*pieces, text[done:]))


def without_rest(text: str) -> str:
    """Put stars over all that follows a literal in a text that is no document: nothing says where it ends."""
    found = _IN_TEXT.search(text)
    return text if found is None else text[: found.end()] + _stars(text[found.end() :])


def _stars(text: str) -> str:
    return re.sub(r"[^\r\n]", "*", text)
