"""Top level of a recipe by other hands: what an importer takes is understood, what is left becomes a note."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sparkiac import characters
from sparkiac.importers import hiding, yamlread
from sparkiac.importers.launch import Note
from sparkiac.importers.unreadable import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sparkiac.report import Path

_LISTED: Final = 12
_READ: Final = 1 << 11
"""Characters of a value that are looked at for a note, which shows far fewer."""
_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0", "~", ""})
_NOTHING: Final = (None, "", "~")


class Sheet:
    """A recipe's values, each with its line, and the notes about it."""

    def __init__(self, text: str) -> None:
        """Read the text. Raises Unreadable for what is no mapping."""
        self.document = yamlread.read(text)
        if not isinstance(self.document.data, dict):
            message = "a recipe is a mapping of keys and values"
            raise Unreadable(message)
        self.data: dict[str, object] = self.document.data
        self._left = dict.fromkeys(self.data)
        self._text = text.split("\n")
        self._parts: dict[str, str] = {}
        self._notes: list[Note] = []
        for note in self.document.notes:
            self.copied(note)

    def notes(self) -> tuple[Note, ...]:
        """Give all notes, in the order of the file."""
        return tuple(sorted(dict.fromkeys(self._notes), key=lambda note: (note.line, note.what)))

    def lost(self, line: int, what: str, why: str) -> None:
        """Note what nothing of sparkiac's means, or what was not understood."""
        self._note("lost", line, what, why)

    def corrected(self, line: int, what: str, why: str) -> None:
        """Note what is said differently now."""
        self._note("corrected", line, what, why)

    def unused(self, line: int, what: str, why: str) -> None:
        """Note what is no part of the launch."""
        self._note("unused", line, what, why)

    def copied(self, note: Note) -> None:
        """Add a note of another reader."""
        self._note(note.kind, note.line, note.what, note.why)

    def _note(self, kind: str, line: int, what: str, why: str) -> None:
        self._notes.append(Note(kind, line, _shown(what), _shown(why)))

    def line(self, *path: str | int) -> int:
        """Give the line of what stands at a path."""
        return self.document.line(*path)

    def place(self, key: str, words: str) -> int:
        """Give the line within the value of `key` that first holds some words; the line of the key if none does."""
        first = self.line(key)
        if key not in self._parts:
            after = [line for path, line in self.document.lines.items() if len(path) == 1 and line > first]
            self._parts[key] = "\n".join(self._text[first - 1 : min(after, default=len(self._text) + 1) - 1])
        found = self._parts[key].find(words)
        return first if found < 0 else first + self._parts[key].count("\n", 0, found)

    def first_line(self, key: str) -> int:
        """Give the line at which the text of `key` begins: under the key if it is a block."""
        line = self.line(key)
        return line + (re.search(r":[ \t]*[|>][-+0-9]*[ \t]*(#.*)?$", self._text[line - 1].rstrip("\r")) is not None)

    def take(self, key: str) -> object:
        """Give the value of a key, None if it has none, and count the key as understood."""
        self._left.pop(key, None)
        value = self.data.get(key)
        return None if value in _NOTHING else value

    def replace(self, key: str, value: object, origin: Path) -> None:
        """Put another value in the place of a key's, whose parts stand elsewhere."""
        self.data = self.data | {key: value}
        self._left.setdefault(key)
        lines = self.document.lines
        moved = {(key, *path[len(origin) :]): line for path, line in lines.items() if path[: len(origin)] == origin}
        self.document = self.document._replace(lines=lines | moved)

    def word(self, key: str) -> str | None:
        """Take a scalar as a text. Raises Unreadable for a collection."""
        value = self.take(key)
        if isinstance(value, dict | tuple):
            message = f"{key}: a text is wanted"
            raise Unreadable(message, line=self.line(key))
        return None if value is None else str(value).strip()

    def truth(self, key: str) -> bool:
        """Take a truth value; what is none is noted and counts as false."""
        value = str(self.take(key)).lower()
        if value not in _TRUE | _FALSE | {"none"}:
            self.lost(self.line(key), entry(key, self.data[key]), "no truth value")
        return value in _TRUE

    def count(self, key: str) -> int | None:
        """Take a number of machines; what is none is noted."""
        value = self.take(key)
        number = whole(value)
        if value is not None and number is None:
            self.lost(self.line(key), entry(key, value), "no number of machines")
        return number

    def mapping(self, key: str) -> dict[str, object]:
        """Take a mapping; null and an empty list are an empty one. Raises Unreadable for anything else."""
        value = self.take(key)
        if value is None or value == ():
            return {}
        if not isinstance(value, dict):
            message = f"{key}: a mapping is wanted"
            raise Unreadable(message, line=self.line(key))
        return value

    def entries(self, key: str) -> Iterator[tuple[int, object]]:
        """Take a list, each entry with its line; a single value is a list of one."""
        value = self.take(key)
        if not isinstance(value, tuple):
            yield from [] if value in (None, {}) else [(self.line(key), value)]
            return
        yield from ((self.line(key, index), each) for index, each in enumerate(value))

    def rest(self) -> Iterator[tuple[str, object, int]]:
        """Give each key that nothing took, with its value and line. One that says nothing is not among them."""
        for key in self._left:
            if self.data[key] not in (*_NOTHING, (), {}):
                yield key, self.data[key], self.line(key)


def whole(value: object) -> int | None:
    """Read a number from 1 to a million, None from anything else."""
    text = str(value)
    return int(text) if re.fullmatch(r"[1-9][0-9]{0,5}", text) and not isinstance(value, bool) else None


def entry(key: str, value: object) -> str:
    """Write a key with what it holds, in one line: a scalar, the keys of a mapping, the length of a list."""
    if isinstance(value, dict):
        return f"{key}: {_listed(value)}"
    if isinstance(value, tuple):
        scalars = [str(each) for each in value if not isinstance(each, dict | tuple)]
        return f"{key}: {_listed(scalars) if len(scalars) == len(value) else f'{len(value)} entries'}"
    return f"{key}: {hiding.STARS if hiding.is_secret_name(key) else _shown(str(value))}"


def _listed(words: Iterable[str]) -> str:
    shown = list(words)
    return ", ".join(shown[:_LISTED]) + (", …" if len(shown) > _LISTED else "")


def _shown(text: str) -> str:
    """Make a text fit for a report: its first words, in one line, without secrets."""
    words = text.split()
    line = " ".join(words)
    if len(line) > _READ:  # a word that is cut could be half a secret
        words = line[:_READ].split(" ")[:-1] or ["…"]
    return characters.escaped(hiding.shown(" ".join(_starred(words))))


def _starred(words: Iterable[str]) -> Iterator[str]:
    """Put stars over what options and assignments with the name of a secret are given."""
    before = ""
    for word in words:
        name, sign, value = word.partition("=")
        if sign and value and hiding.is_secret_name(name.strip("\"'")):
            yield f"{name}={hiding.STARS}"
        else:
            yield hiding.STARS if _gives(before) else word
        before = word


def _gives(word: str) -> bool:
    """Whether the next word is the value of a secret."""
    return word.startswith("-") and "=" not in word and hiding.is_secret_name(word)
