"""Commands of a shell text with their variables put in, as far as the text itself sets them.

A variable that the text does not set stays as it is written: `$HF_TOKEN` is the caller's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.importers.launch import Note
from sparkiac.importers.shell_lexer import simple_commands
from sparkiac.importers.shell_parts import Part, Word
from sparkiac.importers.unreadable import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sparkiac.importers.shell_parts import Simple

MAX_EXPANDED: Final = 1 << 20
"""Characters that variables may grow to in one text."""
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=(.*)", re.DOTALL)
_DECLARES: Final = frozenset({"export", "declare", "local", "readonly", "typeset"})
_AROUND: Final = frozenset({"then", "do", "else", "elif", "if", "while", "until", "!", "{", "time", "command"})
_CLOSING: Final = frozenset({"fi", "done", "esac", "}"})
_UNSET: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")

Value = str | tuple[str, ...]


class Command(NamedTuple):
    """One command that runs a program."""

    words: tuple[str, ...]
    lines: tuple[int, ...]
    """Line of each word."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables that are set for it: exported before, or in front of it."""

    @property
    def line(self) -> int:
        """Give the line at which it begins."""
        return self.lines[0]


class Script(NamedTuple):
    """All commands of a text, and what it sets."""

    commands: tuple[Command, ...]
    variables: Mapping[str, Value]
    notes: tuple[Note, ...]


def script(text: str, *, variables: Mapping[str, Value] | None = None, line: int = 1) -> Script:
    """Read a text whose first line is `line` of its file, with the variables that are set before it."""
    found, notes = simple_commands(text, line=line)
    reader = _Reader(dict(variables or {}), [*notes])
    commands = tuple(command for each in found if (command := reader.command(each)) is not None)
    return Script(commands, reader.variables, tuple(reader.notes))


def unset(word: str) -> str | None:
    """Give the variable that a word takes its value from, if it is nothing but that."""
    found = _UNSET.fullmatch(word)
    return found[1] if found else None


class _Reader:
    """Follows the assignments of a text."""

    def __init__(self, variables: dict[str, Value], notes: list[Note]) -> None:
        self.variables, self.notes = variables, notes
        self.exported: dict[str, str] = {}
        self.grown = 0

    def command(self, simple: Simple) -> Command | None:
        """Give the command, or None for what sets variables or belongs to the shell."""
        words = [*simple.words]
        own: dict[str, str] = {}
        while words and _bare(words[0]) in _AROUND:
            del words[0]
        while words and (assigned := self._assigned(words[0])):
            own |= self._set(*assigned)
            del words[0]
        if not words or _bare(words[0]) in _CLOSING:
            return None
        if _bare(words[0]) in _DECLARES:
            for word in words[1:]:
                assigned = self._assigned(word)
                self.exported |= self._set(*assigned) if assigned else {}
            return None
        pairs = [(text, word.line) for word in words for text in self._expanded(word)]
        if not pairs:
            return None
        env = tuple((self.exported | own).items())
        return Command(tuple(text for text, _ in pairs), tuple(line for _, line in pairs), env)

    def _set(self, name: str, value: Value) -> dict[str, str]:
        self.variables[name] = value
        return {name: value} if isinstance(value, str) else {}

    def _assigned(self, word: Word) -> tuple[str, Value] | None:
        first = word.parts[0]
        found = _ASSIGNMENT.fullmatch(first.text) if not first.quoted and first.name is None else None
        if found is None:
            return None
        before = self.variables.get(found[1]) if found[2] else None
        items = next((part.items for part in word.parts if part.items is not None), None)
        if items is not None:
            added = tuple(text for item in items for text in self._expanded(item))
            return found[1], (*((before,) if isinstance(before, str) else before or ()), *added)
        rest = Word((Part(found[3]), *(part._replace(quoted=True) for part in word.parts[1:])), word.line)
        text = "".join(self._expanded(rest))
        return found[1], (before if isinstance(before, str) else "") + text

    def _expanded(self, word: Word) -> Iterator[str]:
        """Give the words that a word becomes: several where an unquoted variable holds blanks."""
        fields: list[str] = []
        current: str | None = None
        for part in word.parts:
            value = part.text if part.name is None else self._value(part, word.line)
            pieces = [*value] if isinstance(value, tuple) else [value]
            if part.name is not None and not part.quoted and isinstance(value, str) and value != part.text:
                pieces = value.split()
            elif not part.quoted and current is None and value == "":
                continue
            for place, piece in enumerate(pieces):
                if place and current is not None:
                    fields.append(current)
                    current = None
                current = (current or "") + piece
        self.grown += sum(map(len, fields)) + len(current or "")
        if self.grown > MAX_EXPANDED:
            message = f"variables grow to more than {MAX_EXPANDED} characters"
            raise Unreadable(message, line=word.line)
        yield from fields
        if current is not None:
            yield current

    def _value(self, part: Part, line: int) -> Value:
        value = self.variables.get(part.name or "")
        if value is not None and (value or part.keeps_empty or not part.default):
            return value
        if part.default is None:
            return part.text
        why = f"its default is taken, for the file does not set {part.name}"
        self.notes.append(Note("corrected", line, f"${{{part.name}:-…}}", why))
        return _UNSET.sub(self._known, part.default.strip("\"'"))

    def _known(self, found: re.Match[str]) -> str:
        value = self.variables.get(found[1], found[0])
        return value if isinstance(value, str) else " ".join(value)


def _bare(word: Word) -> str:
    """Give a word that is one unquoted text, or nothing."""
    parts: Sequence[Part] = word.parts
    return parts[0].text if len(parts) == 1 and not parts[0].quoted and parts[0].name is None else ""
