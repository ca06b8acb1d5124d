"""What must not be shown of a foreign file: secrets by their form, by the name of their variable, by their option."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sparkiac.source import secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

STARS: Final = "***"
_NAMED: Final = re.compile(
    r"(?:^|[_.-])(?:TOKENS?|KEYS?|PASS|PASSWORD|PASSWD|PWD|SECRETS?|CREDENTIALS?)$", re.IGNORECASE
)
_PUBLIC: Final = re.compile(r"(?:^|_)(?:PUBLIC_KEY|SPEC(?:ULATIVE)?_TOKENS|(?:MAX|NUM)_[A-Z_]*TOKENS?)$", re.IGNORECASE)
"""Names that end like a secret's and count tokens."""
_NAMES: Final = re.compile(
    r"(?<![\w.-])(?=(-{0,2}[A-Za-z_][\w.-]{0,100})(['\"]?\s{0,9}[=:]\s{0,9}['\"]?|['\"]?,?[ \t]{1,9}['\"]?))"
)
"""A name before what may be assigned to it. It takes no text, so that what looks like a value is a name as well."""
_VALUE: Final = re.compile(r"[^\s'\",;&|)}]{1,4096}")
_URL: Final = re.compile(r"(?<!\w)(\w{1,30}://[^\s/:@]{0,200}):([^\s/@]{1,200})@")
_COMMENT: Final = re.compile(r"(?:^|[ \t])#")
_GOES_ON: Final = re.compile(r"[ \t]+[A-Za-z]")
_LINE: Final = 400
"""Characters before a value that are looked at for the beginning of its line."""
_STANDS: Final = re.compile(r"^[$<{]|x{3,}$|^your|change[-_]?me|\.\.\.|\u2026|^\*+$", re.IGNORECASE)
_SHORTEST: Final = 4
_LONGEST: Final = 120
_NOTHING: Final = frozenset({"true", "false", "none", "null", "auto", "empty", "secret"})


def is_secret_name(name: str) -> bool:
    """Whether a variable or an option of this name holds a secret: as inventories judge, and any token or key."""
    plain = name.lstrip("-").replace("-", "_")
    if _PUBLIC.search(plain):
        return False
    return secrets.is_secret(plain) or secrets.is_variable(("env", plain)) or _NAMED.search(plain) is not None


def stands_for(text: str) -> bool:
    """Whether a text stands in the place of a secret and is none: `$HF_TOKEN`, `hf_xxx`, `<your token>`."""
    return not text or _STANDS.search(text) is not None


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
    plain = _URL.sub(rf"\1:{STARS}@", secrets.without_literals(text))
    for start, end in sorted(set(_places(plain)), reverse=True):
        plain = plain[:start] + STARS + plain[end:]
    return plain


def values(text: str) -> frozenset[str]:
    """Collect what a file assigns to names that hold secrets, and what is a secret by its form."""
    found = {text[start:end] for start, end in _places(text) if not _is_prose(text, start, end)}
    found |= {held[2] for held in _URL.finditer(text)}
    return frozenset(each for each in found if tells(each))


def _is_prose(text: str, start: int, end: int) -> bool:
    """Whether a word after `NAME:` belongs to a sentence or a comment: `# KEY: EAGLE is faster` assigns nothing."""
    line = text[text.rfind("\n", max(start - _LINE, 0), start) + 1 : start]
    if not line.rstrip(" \t'\"").endswith(":"):
        return False
    return _COMMENT.search(line) is not None or _GOES_ON.match(text, end) is not None


def _places(text: str) -> Iterator[tuple[int, int]]:
    """Find where values stand that are assigned to a secret's name."""
    for name in _NAMES.finditer(text):
        if not is_secret_name(name[1]):
            continue
        value = _VALUE.match(text, name.end(2))
        if value is not None and _assigns(name, value[0]) and not value[0].startswith(("$", "/", "~")):
            yield value.span()


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


def tells(value: str) -> bool:
    """Whether a value gives something away: it is no reference, path, number or plain word, and not short."""
    if len(value) < _SHORTEST or stands_for(value) or value.startswith(("/", "~", "-")):
        return False
    return value.lower() not in _NOTHING and not value.isdecimal()
