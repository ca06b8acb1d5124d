"""Text of a shell → simple commands of words, each with its line. Nothing is expanded yet.

The standard library's shlex gives words without their quotes, and so cannot tell '$HOME' from "$HOME", nor the line of
a word; bashlex is under the GPL, and refuses a text as a whole for one construct that it lacks; a full grammar would
be one more native library. So the words of the shell's grammar are read here, and tests compare them with bash.

What people paste is mended: typographic quotes and dashes, a blank behind the backslash that ends a line, a comment
between two continued lines.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

from sparkiac.importers.launch import Note
from sparkiac.importers.shell_parts import Part, Simple, Word
from sparkiac.importers.unreadable import Unreadable
from sparkiac.source.text import FORBIDDEN

MAX_CHARACTERS: Final = 1 << 18
_DOUBLE: Final = '"\u201c\u201d\u201e'
_SINGLE: Final = "'\u2018\u2019\u201a"
_DASHES: Final = "\u2013\u2014\u2212"
_PLAIN: Final = re.compile(rf"[^\s{_DOUBLE}{_SINGLE}\\$`;&|<>()]+")
_IN_DOUBLE: Final = re.compile(rf"[^{_DOUBLE}\\$`]+")
_BLANK: Final = re.compile(r"[^\S\n]+")
_CONTINUED: Final = re.compile(r"\\([^\S\n]*)\n")
_REMARKS: Final = re.compile(rf"(?:[^\S\n]*#[^\n]*\n)+(?=[^\S\n]*[-{_DASHES}])|(?:[^\S\n]*#[^\n]*\\[^\S\n]*\n)+")
_DASH: Final = re.compile(rf"-*[{_DASHES}][-{_DASHES}]*(?=(\w+))")
_NAME: Final = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])")
_BRACED: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[@*]\])?(?:(:?[-=])(.*))?", re.DOTALL)
_OPERATOR: Final = re.compile(r"&&|\|\||;;|[;|()]|&(?!>)")
_REDIRECTION: Final = re.compile(r"<<<|<<-?|&>>?|>>|[<>]&|>\||<>|[<>]")
_PLACEHOLDER: Final = re.compile(r"<[A-Za-z][\w./ -]{0,60}>(?=\s|$)")
_ANSI: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_DOCUMENT: Final = "a here-document is not read; save what it writes as a file, and import that"
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}


def simple_commands(text: str, *, line: int = 1) -> tuple[tuple[Simple, ...], tuple[Note, ...]]:
    """Read a text that begins in this line of its file. Raises Unreadable where a quote or bracket is not closed."""
    if len(text) > MAX_CHARACTERS:
        message = f"more than {MAX_CHARACTERS} characters of commands"
        raise Unreadable(message, line=line)
    if bad := FORBIDDEN.search(text):
        message = f"character U+{ord(bad.group()):04X} is not allowed"
        raise Unreadable(message, line=line + text.count("\n", 0, bad.start()))
    lexer = _Lexer(text.replace("\r\n", "\n"), line)
    lexer.run()
    return tuple(lexer.commands), tuple(lexer.notes)


class _Lexer:
    """Goes through a text once."""

    def __init__(self, text: str, line: int) -> None:
        self.text, self.at, self.line = text, 0, line
        self.commands: list[Simple] = []
        self.notes: list[Note] = []
        self.words: list[Word] = []
        self.parts: list[Part] | None = None
        self.start = line
        self.redirected = ""
        self.documents: list[tuple[str, bool]] = []
        self.arrays: list[tuple[list[Word], list[Part], int]] = []

    def run(self) -> None:
        """Read everything."""
        while self.at < len(self.text):
            self._step()
        if self.arrays:
            message = "a list that is opened here is not closed"
            raise Unreadable(message, line=self.arrays[0][2])
        self._end_command()

    def _step(self) -> None:
        character = self.text[self.at]
        if character == "\n":
            self._newline()
        elif blank := _BLANK.match(self.text, self.at):
            self.at = blank.end()
            self._end_word()
        elif character == "#" and self.parts is None:
            self._skip_line()
        elif character in "&|;()<>" and self._punctuation():
            pass
        elif not self._dashed():
            self._piece(character)

    def _newline(self) -> None:
        self._end_word()
        if not self.arrays:
            self._end_command()
        self._advance(self.at + 1)
        for delimiter, indented in self.documents:
            self._skip_document(delimiter, indented=indented)
        self.documents = []

    def _piece(self, character: str) -> None:
        """Read one piece of a word."""
        if self.parts is None:
            self.start = self.line
        if character == "\\":
            self._backslash()
        elif character in _SINGLE:
            self._single(character)
        elif character in _DOUBLE:
            self._double(character)
        elif character in "$`":
            self._dollar(quoted=False)
        else:
            found = _PLAIN.match(self.text, self.at)
            self._add(Part(found[0] if found else character))
            self.at += len(found[0]) if found else 1

    def _advance(self, at: int) -> None:
        self.line += self.text.count("\n", self.at, at)
        self.at = at

    def _skip_line(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _add(self, part: Part) -> None:
        if self.parts is None:
            self.parts = []
        self.parts.append(part)

    def _end_word(self) -> None:
        if self.parts is None:
            return
        word = Word(tuple(self.parts), self.start)
        self.parts = None
        if self.redirected.startswith("<<") and self.redirected != "<<<":
            self.documents.append(("".join(part.text for part in word.parts), self.redirected == "<<-"))
            self.notes.append(Note("lost", self.line, "<<", _DOCUMENT))
        elif not self.redirected:
            self.words.append(word)
        self.redirected = ""

    def _end_command(self) -> None:
        self._end_word()
        self.redirected = ""
        if self.words:
            self.commands.append(Simple(tuple(self.words), self.words[0].line))
        self.words = []

    def _punctuation(self) -> bool:
        placeholder = _PLACEHOLDER.match(self.text, self.at) if self.parts is None else None
        if placeholder is not None:
            self.start, self.at = self.line, placeholder.end()
            self._add(Part(placeholder[0], quoted=True))
            return True
        found = _REDIRECTION.match(self.text, self.at)
        if found is not None:
            self._redirection(found[0])
            return True
        operator = _OPERATOR.match(self.text, self.at)
        if operator is None:
            return False
        if operator[0] == ")" and self.arrays:
            self._close_array()
        elif operator[0] != "(" or not self._opens_array():
            self._end_command()
        self.at = operator.end()
        return True

    def _opens_array(self) -> bool:
        if self.parts is None or len(self.parts) != 1 or not self.parts[0].text.endswith("=") or self.arrays:
            return False
        self.arrays.append((self.words, self.parts, self.line))
        self.words, self.parts = [], None
        return True

    def _close_array(self) -> None:
        self._end_word()
        items = tuple(self.words)
        self.words, parts, self.start = self.arrays.pop()
        self.parts = [*parts, Part("", items=items)]

    def _redirection(self, operator: str) -> None:
        if self.parts is not None and len(self.parts) == 1 and self.parts[0].text.isdigit():
            self.parts = None
        self._end_word()
        self.at += len(operator)
        self.redirected = operator

    def _skip_document(self, delimiter: str, *, indented: bool) -> None:
        while self.at < len(self.text):
            end = self.text.find("\n", self.at)
            end = len(self.text) if end < 0 else end
            line = self.text[self.at : end]
            self._advance(min(end + 1, len(self.text)))
            if (line.lstrip("\t") if indented else line) == delimiter:
                return

    def _dashed(self) -> bool:
        """Write a typographic dash at the start of a word as the hyphens that it was."""
        found = _DASH.match(self.text, self.at) if self.parts is None else None
        if found is None:
            return False
        self.start = self.line
        hyphens = "-" if len(found[1]) == 1 == len(found[0]) and found[0] != "\u2014" else "--"
        self._mended(found[0] + found[1], f"a typographic dash; read as {hyphens}")
        self._add(Part(hyphens))
        self.at = found.end()
        return True

    def _mended(self, what: str, why: str) -> None:
        self.notes.append(Note("corrected", self.line, what, why))

    def _backslash(self) -> None:
        found = _CONTINUED.match(self.text, self.at)
        if found is None:
            self._add(Part(self.text[self.at + 1 : self.at + 2], quoted=True))
            self._advance(min(self.at + 2, len(self.text)))
            return
        if found[1].strip("\r"):
            self._mended("\\", "a blank behind the backslash ends the command here; the next line was meant")
        self._advance(found.end())
        remarks = _REMARKS.match(self.text, self.at)
        if remarks is not None:
            self._mended("#", "a comment between continued lines ends the command here; the next line was meant")
            self._advance(remarks.end())

    def _single(self, opening: str) -> None:
        closing = re.compile("'" if opening == "'" else f"[{_SINGLE}]").search(self.text, self.at + 1)
        if closing is None:
            self._unclosed()
        if opening != "'":
            self._mended(opening, "a typographic quote; read as '")
        self._add(Part(self.text[self.at + 1 : closing.start()], quoted=True))
        self._advance(closing.end())

    def _double(self, opening: str) -> None:
        line = self.line
        if opening != '"':
            self._mended(opening, 'a typographic quote; read as "')
        closing = '"' if opening == '"' else _DOUBLE
        self.at += 1
        self._add(Part("", quoted=True))
        while self.at < len(self.text) and self.text[self.at] not in closing:
            self._inside()
        if self.at >= len(self.text):
            self._unclosed(line)
        self.at += 1

    def _inside(self) -> None:
        character, following = self.text[self.at], self.text[self.at + 1 : self.at + 2]
        if character == "\\":
            if following != "\n":
                self._add(Part(following if following in '"\\$`' else character + following, quoted=True))
            self._advance(min(self.at + 2, len(self.text)))
        elif character in "$`":
            self._dollar(quoted=True)
        else:
            found = _IN_DOUBLE.match(self.text, self.at)
            self._add(Part(found[0] if found else character, quoted=True))
            self._advance(self.at + (len(found[0]) if found else 1))

    def _dollar(self, *, quoted: bool) -> None:
        ansi = None if quoted else _ANSI.match(self.text, self.at)
        named = _NAME.match(self.text, self.at)
        if ansi is not None:
            self._add(Part(re.sub(r"\\(.)", lambda at: _ESCAPES.get(at[1], at[1]), ansi[1]), quoted=True))
            self._advance(ansi.end())
        elif named is not None:
            self._add(Part(named[0], quoted=quoted, name=named[1]))
            self.at = named.end()
        elif self.text.startswith(("${", "$(", "`"), self.at):
            self._braced(quoted=quoted)
        else:
            self._add(Part("$", quoted=quoted))
            self.at += 1

    def _braced(self, *, quoted: bool) -> None:
        end = self._matching()
        raw = self.text[self.at : end]
        found = _BRACED.fullmatch(raw[2:-1]) if raw.startswith("${") else None
        if found is None:
            self._add(Part(raw, quoted=quoted, name=""))
        else:
            self._add(Part(raw, quoted=quoted, name=found[1], default=found[4], keeps_empty=found[3] == "-"))
        self._advance(end)

    def _matching(self) -> int:
        if self.text[self.at] == "`":
            opening, closing, depth = "", "`", 0
        else:
            opening, closing, depth = self.text[self.at + 1], {"{": "}", "(": ")"}[self.text[self.at + 1]], 0
        for found in re.compile(r"\\.|'[^']*'|[(){}`]").finditer(self.text, self.at + 1):
            depth += (found[0] == opening) - (found[0] == closing)
            if depth <= 0 and found[0] == closing:
                return found.end()
        return self._unclosed()

    def _unclosed(self, line: int | None = None) -> NoReturn:
        message = "a quote or bracket is opened here and not closed"
        raise Unreadable(message, line=line or self.line)
