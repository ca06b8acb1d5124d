"""Redaction of foreign files: finds secrets by their form and by the name of their variable or option."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sparkiac.source import secrets

STARS: Final = "***"
_NAMED: Final = re.compile(
    r"(?:^|[_.-])(?:TOKEN|(?:HF|HUB|AUTH|ACCESS|API|BOT|GH)_TOKENS|KEYS?|PASS|PASSWORD|PASSWD|PWD|SECRETS?|CREDENTIALS?)$",
    re.IGNORECASE,
)
_PUBLIC: Final = re.compile(r"(?:^|_)(?:PUBLIC_KEY|(?:MAX|NUM)_[A-Z_]*TOKEN)$", re.IGNORECASE)
"""Names that end like a secret's name. Other names in the plural, such as prompt_tokens, count tokens."""
_NAMES: Final = re.compile(
    r"(?<![\w.-])(?=(-{0,2}[A-Za-z_][\w.-]{0,100})(['\"]?\s{0,9}[=:]\s{0,9}['\"]?|['\"]?,?[ \t]{1,9}['\"]?))"
)
"""A name followed by an assignment. The lookahead consumes nothing, so that a value can itself be a name."""
_VALUE: Final = re.compile(r"[^\s'\",;&|)}]{1,4096}")
_COMMENT: Final = re.compile(r"(?:^|[ \t])(?:#|//)[^\n]*", re.MULTILINE)
_NEXT_WORD: Final = re.compile(r"[ \t]+[A-Za-z]")
_BREAKS: Final = re.compile(r"[\s'\",;&|)`\\]")
"""Characters that end a value in a text, but not in a word of a command."""
_RANDOM: Final = 16
"""Minimum length of letters mixed with digits that counts as random."""
_LONGEST: Final = 120


def is_secret_name(name: str) -> bool:
    """Return whether the name of a variable or option marks a secret: by the inventory's rules, or any token or key."""
    plain = name.lstrip("-").replace("-", "_")
    if _PUBLIC.search(plain):
        return False
    return secrets.is_named(plain) or _NAMED.search(plain) is not None


def is_secret(text: str) -> bool:
    """Return whether a text contains something in the form of a secret."""
    return secrets.literal(text, ()) is not None


def holds_secret(words: Iterable[str]) -> bool:
    """Return whether the words of a command contain a secret."""
    argv = tuple(words)
    return any(map(is_secret, argv)) or joined(argv) != " ".join(argv)


def joined(words: Iterable[str]) -> str:
    """Join the words of a command with its passwords redacted; a password may contain spaces and quotes."""
    parts = tuple(words)
    line = " ".join(parts)
    for found in secrets.of_commands(" ".join(_BREAKS.sub("_", word) for word in parts)):
        line = line[: found.start] + "*" * (found.end - found.start) + line[found.end :]
    return line


def redacted(text: str, *, longest: int = _LONGEST) -> str:
    """Return a text for a report: one line, shortened, with secrets redacted."""
    line = " ".join(redacted_line(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def safe_line(text: str, number: int) -> str:
    """Return a line of a file unchanged, or an empty text if it contains a secret."""
    lines = text.split("\n")
    line = lines[number - 1].rstrip("\r") if number <= len(lines) else ""
    return line if without_secrets(redacted_line(line), secret_values(text)) == line else ""


def redacted_line(text: str) -> str:
    """Return a line with secrets redacted."""
    plain = secrets.without_literals(text)
    for start, end in sorted(set(_positions(plain)), reverse=True):
        plain = plain[:start] + STARS + plain[end:]
    return plain


def secret_values(text: str) -> frozenset[str]:
    """Return the values that a file assigns to secrets' names, and the passwords in its URLs and commands."""
    found = {text[start:end] for start, end in _positions(text)}
    found |= {text[each.start : each.end] for each in (*secrets.passwords(text), *secrets.of_commands(text))}
    return frozenset(each for each in found if secrets.can_be_real(each))


def _positions(text: str) -> Iterator[tuple[int, int]]:
    """Yield the positions of values that are assigned to a secret's name."""
    comments = [found.span() for found in _COMMENT.finditer(text)]
    done = 0
    for name in _NAMES.finditer(text):
        if name.end(2) < done or not is_secret_name(name[1]):
            continue
        value = _VALUE.match(text, name.end(2))
        if value is None or value[0].startswith(("$", "/", "~")) or not _assigns(name, value[0]):
            continue
        remark = _inside(comments, name.start()) or _sentence_continues(text, name, value)
        if _is_real_secret(name[1], value[0]) or not remark:
            done = value.end()
            yield value.span()


def _sentence_continues(text: str, name: re.Match[str], value: re.Match[str]) -> bool:
    """Return whether name and value are part of a sentence, such as `the KEY: EAGLE is faster`."""
    return ":" in name[2] and not secrets.is_named(name[1]) and _NEXT_WORD.match(text, value.end()) is not None


def _inside(spans: Sequence[tuple[int, int]], at: int) -> bool:
    """Return whether a position is inside one of the sorted spans."""
    before = bisect(spans, at, key=lambda span: span[0])
    return before > 0 and at < spans[before - 1][1]


def _is_real_secret(name: str, value: str) -> bool:
    """Return whether a comment contains a real secret: `# KEY: EAGLE is faster` does not."""
    digits = any(map(str.isdigit, value))
    return digits and (secrets.is_named(name) or len(value) >= _RANDOM)


def without_secrets(text: str, hidden: Iterable[str]) -> str:
    """Redact secrets in a text. The longest is replaced first, because one secret can contain another."""
    for each in sorted(hidden, key=lambda value: (-len(value), value)):
        if each in text:
            text = re.sub(rf"(?<![\w-]){re.escape(each)}(?![\w-])", STARS, text)
    return secrets.without_literals(text)


def _assigns(name: re.Match[str], value: str) -> bool:
    """Return whether a text assigns a value; `Token: required` is prose, and `--token --port 1` has no value."""
    if "=" in name[2]:
        return True
    if ":" in name[2]:
        return not (value.isalpha() and value.islower())
    return name[1].startswith("--") and not value.startswith("-")
