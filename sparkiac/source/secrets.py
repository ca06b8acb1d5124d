"""Literal secrets, where a reference is wanted or anywhere else: they are refused, and never printed.

A finding shows the user's own line, so what must not be shown is taken out of the document's lines, for every
finding and every later stage. Stars keep the columns right; they tell no more than the finding's end column.
"""

from __future__ import annotations

import re
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from sparkiac.model.base import SECRET_KEYS
from sparkiac.model.forms import SECRET

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sparkiac.report import Mark, Path

WANTED: Final = "write {secret: NAME} and put the value into a vault; if this was a real secret, change it now"
TAKE_OUT: Final = (
    "take it out: `api_key: {secret: NAME}` names a file on the host that holds it, `hub: {api_key: …}` for a token of "
    "the model hub; "
    "if this was a real secret, change it now"
)
_NAMES: Final = frozenset(key.replace("_", "") for key in SECRET_KEYS)
_REFERENCE: Final = r"""["']?\s*:\s*\{\s*secret\s*:\s*["']?[a-z0-9_-]+["']?\s*\}"""
_IN_TEXT: Final = re.compile(
    rf"(?<![A-Za-z0-9_-])({'|'.join(key.replace('_', '[_-]?') for key in sorted(SECRET_KEYS))})(?!{_REFERENCE})",
    re.IGNORECASE,
)
_KINDS: Final = {
    "Hugging Face token": r"hf_[A-Za-z0-9]{20,}",
    "OpenAI key": r"sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}",
    "NVIDIA key": r"nvapi-[A-Za-z0-9_-]{16,}",
    "GitHub token": r"(?:gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
    "GitLab token": r"glpat-[A-Za-z0-9_-]{16,}",
    "Slack token": r"xox[abprs]-[A-Za-z0-9-]{10,}",
    "AWS key": r"AKIA[0-9A-Z]{16}",
    "Telegram token": r"[0-9]{8,10}:[A-Za-z0-9_-]{35}",
    "bearer token": r"(?i:bearer)[ ]+(?=[A-Za-z._~+/=-]*[0-9])[A-Za-z0-9._~+/=-]{16,}",
    "private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
}
"""What a secret is called → how its text begins, long enough for a real one."""
_LITERAL: Final = re.compile(
    "(?<![A-Za-z0-9_-])(?:" + "|".join(f"({form})" for form in _KINDS.values()) + ")",
)
_VARIABLES: Final = frozenset({"arguments", "env", "environment", "set"})
"""Keys whose own keys are names that a program knows."""
_NOTHING: Final = frozenset({"", "null"})
_NAMED: Final = (
    r"(?:(?:API|SECRET|SERVER|ACCESS|PRIVATE|AUTH)_?KEYS?|(?:HF|HUB|AUTH|ACCESS|BOT|API)_?TOKEN"
    r"|PASSWORD|PASSWD|SECRET)"
)
_VARIABLE: Final = re.compile(rf"(?:^|_){_NAMED}$", re.IGNORECASE)
_VARIABLE_IN_TEXT: Final = re.compile(rf"(?<![A-Z0-9])(?:[A-Z0-9]+_)*{_NAMED}(?![A-Z0-9_])")


def literal(text: str, path: Path) -> str | None:
    """Say what a value gives away, by its form or by the name of the variable that it is for."""
    found = _LITERAL.search(text)
    if found is not None and found.lastindex is not None:
        return f"looks like a {tuple(_KINDS)[found.lastindex - 1]}"
    name = _variable(path)
    return None if name is None or text in _NOTHING or text.startswith("/") else f"is the value of {name}"


def is_variable(path: Path) -> bool:
    """Whether a value is for a variable or an option that holds a secret."""
    return _variable(path) is not None


def _variable(path: Path) -> str | int | None:
    named = (key for parent, key in pairwise(path) if parent in _VARIABLES and _VARIABLE.search(str(key)))
    return next(named, None)


def without_literals(text: str) -> str:
    """Put stars over what has the form of a secret, in comments too."""
    return _LITERAL.sub(lambda found: _stars(found[0]), text)


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
    ends = [found.end() for form in (_IN_TEXT, _VARIABLE_IN_TEXT) if (found := form.search(text))]
    return text[: min(ends)] + _stars(text[min(ends) :]) if ends else text


def _stars(text: str) -> str:
    return re.sub(r"[^\r\n]", "*", text)
