"""The top level of a foreign recipe: tracks which keys an importer has read, and collects notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from sparkiac.foreign import redaction, yamlread
from sparkiac.foreign.launch import Note, Unreadable
from sparkiac.report import Path, characters

_MAX_LISTED: Final = 12
_MAX_EXAMINED: Final = 1 << 11
"""Characters of a value that are examined for a note; a note shows far fewer."""
_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0", "~", ""})
_NOTHING: Final = (None, "", "~")


class RecipeFile:
    """A recipe's values with their lines, and the notes about them."""

    def __init__(self, text: str) -> None:
        """Read the text. Raises Unreadable if it is not a mapping."""
        self.document = yamlread.read(text)
        if not isinstance(self.document.data, dict):
            raise Unreadable("a recipe must be a mapping of keys and values")
        self.data: dict[str, object] = self.document.data
        self._unread = dict.fromkeys(self.data)
        self._lines = text.split("\n")
        self._parts: dict[str, str] = {}
        self._notes: list[Note] = []
        for note in self.document.notes:
            self.add(note)

    def notes(self) -> tuple[Note, ...]:
        """Return all notes, in the order of the file."""
        return tuple(sorted(dict.fromkeys(self._notes), key=lambda note: (note.line, note.what)))

    def lost(self, line: int, what: str, why: str) -> None:
        """Note a setting that is not understood or that sparkiac has no equivalent for."""
        self.add(Note("lost", line, what, why))

    def corrected(self, line: int, what: str, why: str) -> None:
        """Note a setting that is imported in another form."""
        self.add(Note("corrected", line, what, why))

    def unused(self, line: int, what: str, why: str) -> None:
        """Note a setting that does not affect the launch."""
        self.add(Note("unused", line, what, why))

    def add(self, note: Note) -> None:
        """Add a note, with secrets redacted."""
        self._notes.append(note._replace(what=_redacted(note.what), why=_redacted(note.why)))

    def line(self, *path: str | int) -> int:
        """Return the line of the value at a path."""
        return self.document.line(*path)

    def line_of(self, key: str, words: str) -> int:
        """Return the line within the value of `key` that first contains `words`, or else the line of the key."""
        first = self.line(key)
        if key not in self._parts:
            after = [line for path, line in self.document.lines.items() if len(path) == 1 and line > first]
            self._parts[key] = "\n".join(self._lines[first - 1 : min(after, default=len(self._lines) + 1) - 1])
        found = self._parts[key].find(words)
        return first if found < 0 else first + self._parts[key].count("\n", 0, found)

    def first_line(self, key: str) -> int:
        """Return the line on which the text of `key` begins: for a block scalar, the line after the key."""
        line = self.line(key)
        return line + (re.search(r":[ \t]*[|>][-+0-9]*[ \t]*(#.*)?$", self._lines[line - 1].rstrip("\r")) is not None)

    def read(self, key: str) -> object:
        """Return the value of a key, or None, and mark the key as read."""
        self._unread.pop(key, None)
        value = self.data.get(key)
        return None if value in _NOTHING else value

    def replace(self, key: str, value: object, origin: Path) -> None:
        """Replace a key's value; its line numbers are those of the path `origin` of the file."""
        self.data = self.data | {key: value}
        self._unread.setdefault(key)
        lines = self.document.lines
        moved = {(key, *path[len(origin) :]): line for path, line in lines.items() if path[: len(origin)] == origin}
        self.document = self.document._replace(lines=lines | moved)

    def text(self, key: str) -> str | None:
        """Read a scalar as text. Raises Unreadable for a collection."""
        value = self.read(key)
        if isinstance(value, dict | tuple):
            raise Unreadable(f"{key}: must be a text", line=self.line(key))
        return None if value is None else str(value).strip()

    def boolean(self, key: str) -> bool:
        """Read a boolean; anything else is noted and counts as false."""
        value = str(self.read(key)).lower()
        if value not in _TRUE | _FALSE | {"none"}:
            self.lost(self.line(key), summary(key, self.data[key]), "not a boolean")
        return value in _TRUE

    def count(self, key: str) -> int | None:
        """Read a number of machines; anything else is noted."""
        value = self.read(key)
        number = positive_int(value)
        if value is not None and number is None:
            self.lost(self.line(key), summary(key, value), "not a number of machines")
        return number

    def mapping(self, key: str) -> dict[str, object]:
        """Read a mapping; null and an empty list count as an empty one. Raises Unreadable for anything else."""
        value = self.read(key)
        if value is None or value == ():
            return {}
        if not isinstance(value, dict):
            raise Unreadable(f"{key}: must be a mapping", line=self.line(key))
        return value

    def entries(self, key: str) -> Iterator[tuple[int, object]]:
        """Read a list, each entry with its line; a single value counts as a list of one."""
        value = self.read(key)
        if not isinstance(value, tuple):
            yield from [] if value in (None, {}) else [(self.line(key), value)]
            return
        yield from ((self.line(key, index), each) for index, each in enumerate(value))

    def unread(self) -> Iterator[tuple[str, object, int]]:
        """Yield each key that was not read and is not empty, with its value and line."""
        for key in self._unread:
            if self.data[key] not in (*_NOTHING, (), {}):
                yield key, self.data[key], self.line(key)


def positive_int(value: object) -> int | None:
    """Read a number from 1 to 999,999; None for anything else."""
    text = str(value)
    return int(text) if re.fullmatch(r"[1-9][0-9]{0,5}", text) and not isinstance(value, bool) else None


def summary(key: str, value: object) -> str:
    """Write a key with its value in one line: a scalar, the keys of a mapping, or the length of a list."""
    if isinstance(value, dict):
        return f"{key}: {_listed(value)}"
    if isinstance(value, tuple):
        scalars = [str(each) for each in value if not isinstance(each, dict | tuple)]
        return f"{key}: {_listed(scalars) if len(scalars) == len(value) else f'{len(value)} entries'}"
    return f"{key}: {redaction.STARS if redaction.is_secret_name(key) else _redacted(str(value))}"


def _listed(words: Iterable[str]) -> str:
    shown = list(words)
    return ", ".join(shown[:_MAX_LISTED]) + (", …" if len(shown) > _MAX_LISTED else "")


def _redacted(text: str) -> str:
    """Prepare a text for a report: its first words, in one line, with secrets redacted."""
    words = text.split()
    line = " ".join(words)
    if len(line) > _MAX_EXAMINED:  # cut between words, because half a secret would not be recognised
        words = line[:_MAX_EXAMINED].split(" ")[:-1] or ["…"]
    return characters.escaped(redaction.redacted(" ".join(words)))
