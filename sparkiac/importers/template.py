"""Placeholders of a recipe's command: two dialects, which the version in a file does not tell apart.

Doubled: braces that mean braces are written twice, as Python's str.format wants it (eugr's recipes). Single: a pair of
braces without braces in it is a placeholder if its name is known, all others mean themselves, and values may hold
placeholders (sparkrun's recipes, which since 0.3 take doubled ones as well). Which one a command is in shows when both
are tried: the right one leaves JSON whole. Sources: eugr's run-recipe.py (2026), sparkrun's RECIPES.md,
"Literal braces".
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.importers.shell_words import script
from sparkiac.importers.unreadable import Unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_CHARACTERS: Final = 100_000
"""Of a command with its values. Linux takes no longer word than 131072 bytes."""
_PASSES: Final = 10
"""How often values are looked through for placeholders: as many as sparkrun tries."""
_TOKEN: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPEN, _CLOSE = "\x00", "\x01"
"""Stand for braces that mean themselves until all values are in: no YAML file may hold these characters."""


class Filled(NamedTuple):
    """A command with its values."""

    text: str
    used: frozenset[str]
    """Names that had a value."""
    missing: tuple[str, ...]
    """Names that had none: they stand in the text as they were."""
    doubled: bool
    """Whether braces that mean braces are written twice."""
    sound: bool
    """Whether every JSON text in it is whole."""


def fill(template: str, values: Mapping[str, str], *, strict: bool) -> Filled:
    """Put values in, in the dialect in which the command comes out whole.

    `strict` is for a format of which str.format is the reader: doubled is its dialect. Elsewhere a doubled opening
    brace tells. Raises Unreadable for a command that grows beyond MAX_CHARACTERS.
    """
    own = strict or "{{" in template
    tried = [_Filling(values, doubled=doubled).run(template, strict=strict) for doubled in (own, not own)]
    return max(tried, key=lambda filled: (filled.sound, -len(filled.missing)))


class _Filling:
    """One try."""

    def __init__(self, values: Mapping[str, str], *, doubled: bool) -> None:
        self.values = values
        self.doubled = doubled
        self.used: set[str] = set()
        self.missing: dict[str, None] = {}
        self.sound = True
        self.grown = 0

    def run(self, template: str, *, strict: bool) -> Filled:
        """Fill a template; the values too, but where str.format reads it, which does not look into them."""
        text = self._pass(template, doubled=self.doubled)
        for _ in range(0 if strict and self.doubled else _PASSES - 1):
            before, text = text, self._pass(text, doubled=False)
            if text == before:
                break
        text = text.replace(_OPEN, "{").replace(_CLOSE, "}")
        sound = self.sound and _whole(text)
        return Filled(text, frozenset(self.used), tuple(self.missing), self.doubled, sound)

    def _pass(self, text: str, *, doubled: bool) -> str:
        self.grown = len(text)
        if self.grown > MAX_CHARACTERS:
            self._too_long()
        return _TOKEN.sub(lambda found: self._token(found, doubled=doubled), text)

    def _token(self, found: re.Match[str], *, doubled: bool) -> str:
        name = found[1]
        if name is not None:
            return self._placeholder(found, name)
        if doubled and len(found[0]) == 1:
            self.sound = False  # str.format refuses a brace alone
        text = found[0][:1] if doubled else found[0]
        return text.replace("{", _OPEN).replace("}", _CLOSE)

    def _placeholder(self, found: re.Match[str], name: str) -> str:
        if name in self.values:
            self.used.add(name)
            self.grown += len(self.values[name])
            if self.grown > MAX_CHARACTERS:
                self._too_long()
            return self.values[name]
        of_shell = found.string[found.start() - 1 : found.start()] == "$"
        if _NAME.fullmatch(name) and not of_shell:
            self.missing[name] = None
        elif self.doubled:
            self.sound = False  # str.format takes it for a placeholder
        return f"{_OPEN}{name}{_CLOSE}"

    def _too_long(self) -> None:
        message = f"with its values the command has more than {MAX_CHARACTERS} characters"
        raise Unreadable(message)


def _whole(text: str) -> bool:
    """Whether each word that begins like JSON is JSON."""
    try:
        commands = script(text).commands
    except Unreadable:
        return False
    words = [word for command in commands for word in command.words]
    return all(_is_json(part) for word in words for part in (word, word.partition("=")[2]) if _begins_json(part))


def _begins_json(word: str) -> bool:
    return re.match(r"""\{\s*["{}]|\[\s*["{\[\]0-9]""", word) is not None


def _is_json(word: str) -> bool:
    try:
        json.loads(word)
    except (ValueError, RecursionError):
        return False
    return True
