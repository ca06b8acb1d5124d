"""Find literal secrets, refuse them and redact them.

A finding prints the user's line, so secrets are redacted in the document's lines, for every finding and every later
stage. The stars keep the columns; the length of a secret is visible in the finding's end column anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import Final

from sparkiac.model.base import SECRET_KEYS
from sparkiac.model.forms import SECRET
from sparkiac.report import Mark, Path
from sparkiac.source.literals import can_be_real, is_named, is_option, literals
from sparkiac.source.text import FALSE, NULL, TRUE

USE_REFERENCE: Final = (
    "write {secret: NAME}; `sparkiac secrets new INVENTORY` generates a value and stores it elsewhere; if this was a "
    "real secret, revoke it now"
)
REMOVE_LITERAL: Final = (
    "remove it: `api_key: {secret: NAME}` reads it from a file on the host, `hub: {api_key: …}` does so for a token of "
    "the model hub; if this was a real secret, change it now"
)
_REFERENCE: Final = r"""["']?\s*:\s*\{\s*secret\s*:\s*["']?[a-z0-9_-]+["']?\s*\}"""
_IN_TEXT: Final = re.compile(
    rf"(?<![A-Za-z0-9_-])({'|'.join(key.replace('_', '[_-]?') for key in sorted(SECRET_KEYS))})(?!{_REFERENCE})",
    re.IGNORECASE,
)
_VARIABLES: Final = frozenset({"arguments", "env", "environment", "set"})
"""Keys below which each key is the name of a variable or an option."""
_NO_SECRETS: Final = NULL | TRUE | FALSE
"""Values that are no secret under any name: `allow_credentials` of vLLM is a switch. A number can be a password."""
_NAME_IN_TEXT: Final = re.compile(r"[A-Z0-9_]+|--[A-Za-z][\w-]*")
"""Words that can be names of variables and options, in a text that is not valid YAML."""


def literal(text: str, path: Path) -> str | None:
    """Return why a value is a secret: its text, or the name of its variable. None if it is not one."""
    found = literals(text)
    if found:
        return found[0].what
    name = _variable(path)
    return None if name is None or text in _NO_SECRETS or text.startswith("/") else f"is the value of {name}"


def behind_option(option: object, value: object) -> bool:
    """Return whether a word of a command is a literal secret because of the option before it."""
    if not (isinstance(option, str) and isinstance(value, str)):
        return False
    return is_option(option) and can_be_real(value)


def is_variable(path: Path) -> bool:
    """Return whether a value belongs to a variable or an option that contains a secret."""
    return _variable(path) is not None


def _variable(path: Path) -> str | int | None:
    named = (key for parent, key in pairwise(path) if parent in _VARIABLES and is_named(str(key)))
    return next(named, None)


def without_literals(text: str) -> str:
    """Replace secrets by stars, also in comments."""
    return _with_stars(text, [(found.start, found.end) for found in literals(text)])


def is_reference(value: object) -> bool:
    """Return whether a value is exactly {secret: NAME}."""
    if not isinstance(value, dict) or value.keys() != {"secret"}:
        return False
    return isinstance(value["secret"], str) and re.fullmatch(SECRET, value["secret"]) is not None


def without(text: str, marks: Iterable[Mark]) -> str:
    """Replace marked ranges of a text by stars; the lines keep their lengths."""
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    return _with_stars(
        text,
        [
            (starts[mark.line - 1] + mark.column - 1, starts[mark.end_line - 1] + mark.end_column - 1)
            for mark in sorted(marks)
        ],
    )


def _with_stars(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Replace sorted ranges by stars; ranges may overlap."""
    pieces, done = [], 0
    for start, end in spans:
        start, end = max(done, start), max(done, start, end)  # noqa: PLW2901  the loop variables are clipped
        pieces += [text[done:start], _stars(text[start:end])]
        done = end
    return "".join((*pieces, text[done:]))


def without_rest(text: str) -> str:
    """Replace all text after a secret by stars in invalid YAML, where the end of the secret is unknown."""
    keys = (found.end() for found in _IN_TEXT.finditer(text))
    names = (found.end() for found in _NAME_IN_TEXT.finditer(text) if is_named(found[0]))
    end = min(next(keys, len(text)), next(names, len(text)))
    return text[:end] + _stars(text[end:])


def _stars(text: str) -> str:
    return re.sub(r"[^\r\n]", "*", text)
