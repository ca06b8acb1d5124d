"""What must not be shown of a foreign file: secrets by their form, by the name of their variable, by their option."""

from __future__ import annotations

import re
from bisect import bisect
from typing import TYPE_CHECKING, Final

from sparkiac.source import literals, secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

STARS: Final = "***"
_NAMED: Final = re.compile(
    r"(?:^|[_.-])(?:TOKENS?|KEYS?|PASS|PASSWORD|PASSWD|PWD|SECRETS?|CREDENTIALS?)$", re.IGNORECASE
)
_PUBLIC: Final = re.compile(r"(?:^|_)(?:PUBLIC_KEY|SPEC(?:ULATIVE)?_TOKENS|(?:MAX|NUM)_[A-Z_]*TOKENS?)$", re.IGNORECASE)
"""Names that end like a secret's and count tokens."""
_NAMES: Final = re.compile(
    r"(?<![\w.-])(?=(-{0,2}[A-Za-z_][\w.-]{0,100})(['\"]?\s{0,9}[=:]\s{0,9}['\"]?|['\"]?,?[ \t]{1,9}['\"]?))"
)
"""A name before what may be assigned to it. It takes no text: what looks like a value and is none is a name as well."""
_VALUE: Final = re.compile(r"[^\s'\",;&|)}]{1,4096}")
_COMMENT: Final = re.compile(r"(?:^|[ \t])(?:#|//)[^\n]*", re.MULTILINE)
_NEXT_WORD: Final = re.compile(r"[ \t]+[A-Za-z]")
_RANDOM: Final = 16
"""Characters from which on letters with digits among them are no word."""
_LONGEST: Final = 120


def is_secret_name(name: str) -> bool:
    """Whether a variable or an option of this name holds a secret: as inventories judge, and any token or key."""
    plain = name.lstrip("-").replace("-", "_")
    if _PUBLIC.search(plain):
        return False
    return literals.is_named(plain) or _NAMED.search(plain) is not None


def is_secret(text: str) -> bool:
    """Whether a text has the form of a secret in it."""
    return secrets.literal(text, ()) is not None


def shown(text: str) -> str:
    """Give a text as a report may show it: one line, cut, with stars for secrets."""
    line = " ".join(_starred(text).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def line_of(text: str, number: int) -> str:
    """Give a line of a file as it stands there; nothing if something in it must not be shown."""
    lines = text.split("\n")
    line = lines[number - 1].rstrip("\r") if number <= len(lines) else ""
    return line if without(_starred(line), values(text)) == line else ""


def _starred(text: str) -> str:
    plain = secrets.without_literals(text)
    for start, end in sorted(set(_places(plain)), reverse=True):
        plain = plain[:start] + STARS + plain[end:]
    return plain


def values(text: str) -> frozenset[str]:
    """Collect what a file assigns to names that hold secrets, and the passwords in its URLs."""
    found = {text[start:end] for start, end in _places(text)}
    found |= {text[each.start : each.end] for each in literals.passwords(text)}
    return frozenset(each for each in found if literals.tells(each))


def _places(text: str) -> Iterator[tuple[int, int]]:
    """Find where values stand that are assigned to a secret's name."""
    comments = [found.span() for found in _COMMENT.finditer(text)]
    done = 0
    for name in _NAMES.finditer(text):
        if name.start() < done or not is_secret_name(name[1]):
            continue
        value = _VALUE.match(text, name.end(2))
        if value is None or value[0].startswith(("$", "/", "~")) or not _assigns(name, value[0]):
            continue
        remark = _is_within(comments, name.start()) or _goes_on(text, name, value)
        if _is_given(name[1], value[0]) or not remark:
            done = value.end()
            yield value.span()


def _goes_on(text: str, name: re.Match[str], value: re.Match[str]) -> bool:
    """Whether more words follow, as in a sentence: `the KEY: EAGLE is faster`. A password may hold blanks."""
    return ":" in name[2] and not literals.is_named(name[1]) and _NEXT_WORD.match(text, value.end()) is not None


def _is_within(spans: Sequence[tuple[int, int]], at: int) -> bool:
    """Whether one of the sorted stretches holds a place."""
    before = bisect(spans, at, key=lambda span: span[0])
    return before > 0 and at < spans[before - 1][1]


def _is_given(name: str, value: str) -> bool:
    """Whether a comment tells a secret: `# KEY: EAGLE is faster` does not."""
    digits = any(map(str.isdigit, value))
    return digits and (literals.is_named(name) or len(value) >= _RANDOM)


def without(text: str, hidden: Iterable[str]) -> str:
    """Put stars over secrets, the longest first, however they came into a text."""
    for each in sorted(hidden, key=lambda value: (-len(value), value)):
        if each in text:
            text = re.sub(rf"(?<![\w-]){re.escape(each)}(?![\w-])", STARS, text)
    return secrets.without_literals(text)


def _assigns(name: re.Match[str], value: str) -> bool:
    """Whether this is no prose: `Token: required` assigns nothing, nor does an option before another one."""
    if "=" in name[2]:
        return True
    if ":" in name[2]:
        return not (value.isalpha() and value.islower())
    return name[1].startswith("--") and not value.startswith("-")
