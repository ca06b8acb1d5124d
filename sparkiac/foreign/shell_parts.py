"""The parts that a shell text consists of, and the position of their reader."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, NoReturn

from sparkiac.foreign.launch import Note, Unreadable

_UNCLOSED: Final = "a quote or bracket is opened here and not closed"
_BRACKET: Final = re.compile(r"\\.|'[^']*'|[(){}`]")


class WordPart(NamedTuple):
    """A part of a word: literal text or a variable."""

    text: str
    """The literal text; for a variable or substitution, its source."""
    quoted: bool = False
    name: str | None = None
    """Name of the variable."""
    operator: str = ""
    """Operator between the name and `other`: `:-`, `-`, `:=`, `=`, `:+`, `+`, `:?` or `?`."""
    other: str = ""
    """Shell text that replaces the variable, depending on the operator."""
    items: tuple[Word, ...] | None = None
    """Words of an array assignment."""


class Word(NamedTuple):
    """One word."""

    parts: tuple[WordPart, ...]
    line: int


class Simple(NamedTuple):
    """One simple command, without its redirections."""

    words: tuple[Word, ...]
    line: int
    after: str = ""
    """Operator before it: `&&`, `||`, `|`, `;` or none."""
    piped: bool = False
    """Whether a pipe or a file is connected to its input or output."""


class HereDocument(NamedTuple):
    """A here-document."""

    text: str
    line: int
    """First line of its text in the file."""
    opened: int
    """Line of the command that reads it."""
    expands: bool
    """Whether the shell expands variables in it."""


class Text(NamedTuple):
    """A whole text, split into commands."""

    commands: tuple[Simple, ...]
    documents: tuple[HereDocument, ...]


class Cursor:
    """A position that moves through a text once."""

    def __init__(self, text: str, *, line: int, indent: int | None) -> None:
        """Start on this line; `indent` columns were removed from each line, None if columns are unknown."""
        self.text, self.at, self.line, self.indent = text, 0, line, indent
        self.notes: list[Note] = []

    def advance(self, at: int) -> None:
        """Move to a later position."""
        self.line += self.text.count("\n", self.at, at)
        self.at = at

    def corrected(self, what: str, why: str) -> None:
        """Note a correction: the text is read differently from how it is written."""
        self.notes.append(Note("corrected", self.line, what, why))

    def unclosed(self, at: int | None = None, message: str = _UNCLOSED) -> NoReturn:
        """Raise Unreadable for a quote or bracket that is not closed; it opens at index `at`, or at the current one."""
        start = self.at if at is None else at
        line = self.line - self.text.count("\n", start, self.at)
        column = start - self.text.rfind("\n", 0, start)
        raise Unreadable(message, line=line, column=1 if self.indent is None else column + self.indent)

    def skip_line(self) -> None:
        """Move to the end of the line."""
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def document(self, delimiter: str, *, indented: bool) -> str:
        """Read the here-document that begins here, and move past its delimiter."""
        lines: list[str] = []
        while self.at < len(self.text):
            start = self.at
            self.skip_line()
            line = self.text[start : self.at]
            line = line.lstrip("\t") if indented else line
            self.line += self.at < len(self.text)
            self.at = min(self.at + 1, len(self.text))
            if line == delimiter:
                break
            lines.append(line)
        return "\n".join(lines)

    def matching(self) -> int:
        """Return the position after the bracket or backquote that closes the one here. Raises Unreadable."""
        opening, closing = "", "`"
        if self.text[self.at] != "`":
            opening = self.text[self.at + 1]
            closing = {"{": "}", "(": ")"}[opening]
        depth = 0
        for found in _BRACKET.finditer(self.text, self.at + 1):
            depth += (found[0] == opening) - (found[0] == closing)
            if depth <= 0 and found[0] == closing:
                return found.end()
        return self.unclosed()
