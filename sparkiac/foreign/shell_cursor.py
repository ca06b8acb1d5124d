"""A position in a shell text, with notes on corrections and the errors for unclosed quotes."""

from __future__ import annotations

import re
from typing import Final, NoReturn

from sparkiac.foreign.launch import Note, Unreadable

_UNCLOSED: Final = "a quote or bracket is opened here and not closed"
_BRACKET: Final = re.compile(r"\\.|'[^']*'|[(){}`]")


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
