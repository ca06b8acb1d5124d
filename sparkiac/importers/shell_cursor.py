"""A place in a text of the shell: where it is, what was mended on the way, and how a text is refused."""

from __future__ import annotations

import re
from typing import Final, NoReturn

from sparkiac.importers.launch import Note
from sparkiac.importers.unreadable import Unreadable

_UNCLOSED: Final = "a quote or bracket is opened here and not closed"
_BRACKET: Final = re.compile(r"\\.|'[^']*'|[(){}`]")


class Cursor:
    """Goes through a text once."""

    def __init__(self, text: str, *, line: int, indent: int | None) -> None:
        """Start in this line; `indent` columns were taken from each line, None where columns say nothing."""
        self.text, self.at, self.line, self.indent = text, 0, line, indent
        self.notes: list[Note] = []

    def advance(self, at: int) -> None:
        """Go to a later place."""
        self.line += self.text.count("\n", self.at, at)
        self.at = at

    def mended(self, what: str, why: str) -> None:
        """Tell what is read otherwise than it is written."""
        self.notes.append(Note("corrected", self.line, what, why))

    def unclosed(self, at: int | None = None, message: str = _UNCLOSED) -> NoReturn:
        """Refuse the text for what is opened at a place before, or here."""
        start = self.at if at is None else at
        line = self.line - self.text.count("\n", start, self.at)
        column = start - self.text.rfind("\n", 0, start)
        raise Unreadable(message, line=line, column=1 if self.indent is None else column + self.indent)

    def skip_line(self) -> None:
        """Go to the end of the line."""
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def document(self, delimiter: str, *, indented: bool) -> str:
        """Read the here-document that begins here, and go behind the line that ends it."""
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
        """Find where the bracket or backquote that opens here is closed. Raises Unreadable."""
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
