"""Placeholders of a recipe's command, in two dialects; the version in the file does not show which one it uses.

Doubled: literal braces are doubled, as Python's str.format requires (eugr's recipes). Single: braces around a known
name are a placeholder, all other braces are literal, and values may contain placeholders (sparkrun's recipes, which
since 0.3 accept doubled braces too). To find the dialect of a command, both are tried: the right one leaves JSON
intact. Sources: eugr's run-recipe.py (2026), sparkrun's RECIPES.md, "Literal braces".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from sparkiac.foreign.launch import Unreadable
from sparkiac.foreign.shell_words import split

MAX_CHARACTERS: Final = 100_000
"""Length of a command with its values; Linux limits an argument to 131072 bytes."""
_PASSES: Final = 10
"""Number of passes that replace placeholders inside values, as in sparkrun."""
_TOKEN: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPEN, _CLOSE = "\x00", "\x01"
"""Stand for literal braces until all values are filled in; a YAML file cannot contain these characters."""


class FilledTemplate(NamedTuple):
    """A command with its values."""

    text: str
    used: frozenset[str]
    """Names that had a value."""
    missing: tuple[str, ...]
    """Names without a value; they stay in the text."""
    doubled: bool
    """Whether literal braces are doubled."""
    valid_json: bool
    """Whether every JSON value in it is valid."""


def fill(template: str, values: Mapping[str, str], *, strict: bool) -> FilledTemplate:
    """Fill in the values, in the dialect that leaves the command intact.

    `strict` is for a format that str.format reads: its dialect is doubled. Otherwise a doubled opening brace decides.
    Raises Unreadable for a command longer than MAX_CHARACTERS.
    """
    own = strict or "{{" in template
    tried = [_TemplateFiller(values, doubled=doubled).run(template, strict=strict) for doubled in (own, not own)]
    return max(tried, key=lambda filled: (filled.valid_json, -len(filled.missing)))


class _TemplateFiller:
    """Fills a template in one dialect."""

    def __init__(self, values: Mapping[str, str], *, doubled: bool) -> None:
        self.values = values
        self.doubled = doubled
        self.used: set[str] = set()
        self.missing: dict[str, None] = {}
        self.valid_json = True
        self.length = 0

    def run(self, template: str, *, strict: bool) -> FilledTemplate:
        """Fill a template, and placeholders inside values too, except with str.format, which does not replace those."""
        text = self._pass(template, doubled=self.doubled)
        for _ in range(0 if strict and self.doubled else _PASSES - 1):
            before, text = text, self._pass(text, doubled=False)
            if text == before:
                break
        text = text.replace(_OPEN, "{").replace(_CLOSE, "}")
        valid_json = self.valid_json and _json_is_valid(text)
        return FilledTemplate(text, frozenset(self.used), tuple(self.missing), self.doubled, valid_json)

    def _pass(self, text: str, *, doubled: bool) -> str:
        self.length = len(text)
        if self.length > MAX_CHARACTERS:
            self._too_long()
        return _TOKEN.sub(lambda found: self._token(found, doubled=doubled), text)

    def _token(self, found: re.Match[str], *, doubled: bool) -> str:
        name = found[1]
        if name is not None:
            return self._placeholder(found, name)
        if doubled and len(found[0]) == 1:
            self.valid_json = False  # str.format rejects a single brace
        text = found[0][:1] if doubled else found[0]
        return text.replace("{", _OPEN).replace("}", _CLOSE)

    def _placeholder(self, found: re.Match[str], name: str) -> str:
        if name in self.values:
            self.used.add(name)
            self.length += len(self.values[name])
            if self.length > MAX_CHARACTERS:
                self._too_long()
            return self.values[name]
        of_shell = found.string[found.start() - 1 : found.start()] == "$"
        if _NAME.fullmatch(name) and not of_shell:
            self.missing[name] = None
        elif self.doubled:
            self.valid_json = False  # str.format reads it as a placeholder
        return f"{_OPEN}{name}{_CLOSE}"

    def _too_long(self) -> None:
        raise Unreadable(f"with its values the command has more than {MAX_CHARACTERS} characters")


def _json_is_valid(text: str) -> bool:
    """Return whether each word that begins like JSON is valid JSON."""
    try:
        words = split(text)
    except Unreadable:
        return False
    return all(_is_json(part) for word in words for part in (word, word.partition("=")[2]) if _begins_json(part))


def _begins_json(word: str) -> bool:
    return re.match(r"""\{\s*["{}]|\[\s*["{\[\]0-9]""", word) is not None


def _is_json(word: str) -> bool:
    try:
        json.loads(word)
    except (ValueError, RecursionError):
        return False
    return True
