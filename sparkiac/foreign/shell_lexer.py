"""Shell text → simple commands of words, each with its line. Nothing is expanded yet.

shlex cannot tell '$HOME' from "$HOME"; bashlex is under the GPL and refuses a whole text for one construct;
tree-sitter-bash expands nothing and finds errors in 3 of 211 scripts that bash reads. Tests compare words with bash.

Common mistakes in pasted text are corrected: typographic quotes and dashes, a blank after the backslash that ends a
line, a comment between two continued lines.
"""

from __future__ import annotations

import re
from typing import Final

from sparkiac.foreign import shell_parts
from sparkiac.foreign.launch import Note, Unreadable, check_characters
from sparkiac.foreign.shell_parts import Cursor, HereDocument, Simple, Text, Word, WordPart, dash, variable

MAX_CHARACTERS: Final = 1 << 18
_MAX_DEPTH: Final = 20
_DOUBLE: Final = '"\u201c\u201d\u201e'
_SINGLE: Final = "'\u2018\u2019\u201a"
_PLAIN: Final = re.compile(rf"[^\s{_DOUBLE}{_SINGLE}\\$`;&|<>()]+")
_IN_DOUBLE: Final = re.compile(rf"[^{_DOUBLE}\\$`]+")
_BLANK: Final = re.compile(r"[^\S\n]+")
_CONTINUED: Final = re.compile(r"\\([^\S\n]*)(?:\n|(?<=[^\S\n])(?=#))")
_BRACED: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*])(?:\[[@*]\])?(?:(:?[-=+?])(.*))?", re.DOTALL)


def simple_commands(text: str, *, line: int = 1, indent: int | None = None) -> tuple[Text, tuple[Note, ...]]:
    """Read a text that begins on this line of its file, with `indent` columns removed from each line.

    Raises Unreadable if a quote or bracket is not closed.
    """
    if len(text) > MAX_CHARACTERS:
        raise Unreadable(f"more than {MAX_CHARACTERS} characters of commands", line=line)
    check_characters(text, line)
    lexer = _Lexer(text.replace("\r\n", "\n"), line=line, indent=indent).run()
    return Text(tuple(lexer.commands), tuple(lexer.found)), tuple(lexer.notes)


class _Lexer(Cursor):
    """Splits a text where the shell splits it."""

    def __init__(self, text: str, *, line: int, indent: int | None, level: int = 0) -> None:
        super().__init__(text, line=line, indent=indent)
        self.level = level
        self.open = level  # depth of round brackets, including those around this text
        self.commands: list[Simple] = []
        self.words: list[Word] = []
        self.parts: list[WordPart] | None = None
        self.start = line
        self.after = self.redirected = self.output = ""
        self.files = False
        self.documents: list[tuple[str, bool, bool, int]] = []
        self.found: list[HereDocument] = []
        self.arrays: list[tuple[list[Word], list[WordPart], int]] = []
        self.cases: list[bool] = []
        """Open `case` commands: whether a pattern follows."""

    def run(self) -> _Lexer:
        """Read the whole text."""
        while self.at < len(self.text):
            self._step()
        if self.arrays:
            self.unclosed(self.arrays[0][2], "a list is opened here and not closed")
        self._end_command()
        return self

    def _step(self) -> None:
        character = self.text[self.at]
        if character == "\n":
            self._newline()
        elif blank := _BLANK.match(self.text, self.at):
            self.at = blank.end()
            self._end_word()
        elif character == "#" and self.parts is None:
            self.comment(behind_words=bool(self.words))
        elif character in "&|;()<>" and self._punctuation():
            pass
        elif not self._dashed():
            self._piece(character)

    def _newline(self) -> None:
        self._end_word()
        if not self.arrays:
            self._end_command()
        self.advance(self.at + 1)
        for delimiter, indented, expands, opened in self.documents:
            start = self.line
            text = self.document(delimiter, indented=indented)
            self.found.append(HereDocument(text, start, opened, expands))
        self.documents = []

    def _piece(self, character: str) -> None:
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
            self._add(WordPart(found[0] if found else character))
            self.at += len(found[0]) if found else 1

    def _add(self, part: WordPart) -> None:
        self.parts = self.parts or []
        self.parts.append(part)

    def _end_word(self) -> None:
        if self.parts is None:
            return
        word = Word(tuple(self.parts), self.start)
        self.parts = None
        text = "".join(part.text for part in word.parts)
        if self.redirected in {"<<", "<<-"}:
            plain = not any(part.quoted for part in word.parts)
            self.documents.append((text, self.redirected == "<<-", plain, self.line))
        elif not self.redirected:
            self.words.append(word)
            self._case()
        self.output = text if self.redirected in {">", ">|"} else self.output
        self.files |= bool(self.redirected) and text != "/dev/null" and not self.redirected.endswith("&")
        self.redirected = ""

    def _case(self) -> None:
        """Track `case WORD in` and `esac`."""
        first = self.words[0].literal
        if first == "case" and len(self.words) == 3 and self.words[2].literal == "in":  # noqa: PLR2004  case WORD in
            self._end_command()
            self.cases.append(True)
        elif first == "esac" and self.cases:
            self.cases.pop()

    def _end_pattern(self) -> None:
        self._end_word()
        if self.words:
            self.commands.append(Simple(tuple(self.words), self.words[0].line, shell_parts.PATTERN))
        self.words, self.cases[-1] = [], False

    def _end_command(self, operator: str = "") -> None:
        self._end_word()
        self.redirected = ""
        if self.words:
            piped = self.files or "|" in {self.after, operator}
            self.commands.append(Simple(tuple(self.words), self.words[0].line, self.after, piped, self.output))
        self.words, self.after, self.files, self.output = [], operator, False, ""

    def _punctuation(self) -> bool:
        placeholder = shell_parts.PLACEHOLDER.match(self.text, self.at)
        if placeholder is not None and (self.parts is None or self.parts[-1].text.endswith("=")):
            self.start, self.at = self.start if self.parts else self.line, placeholder.end()
            self._add(WordPart(placeholder[0], quoted=True))
            return True
        found = shell_parts.REDIRECTION.match(self.text, self.at)
        if found is not None:
            self._redirection(found[0])
            return True
        operator = shell_parts.OPERATOR.match(self.text, self.at)
        if operator is None:
            return False
        if operator[0] == ")" and self.arrays:
            self._close_array()
        elif self.cases and self.cases[-1] and operator[0] in "|()":
            self._end_pattern() if operator[0] == ")" else self._end_word()
        elif operator[0] == ")" and self.open == self.level == 0:
            self.words, self.parts = [], None  # a pattern in a part of a `case`
        elif operator[0] != "(" or not self._opens_array():
            if shell_parts.FUNCTION.match(self.text, self.at):
                self.words, self.parts = [], None
            self._end_command(operator[0])
            if operator[0].startswith(";;") and self.cases:
                self.cases[-1] = True
            self.open += {"(": 1, ")": -1}.get(operator[0], 0)
        self.at = operator.end()
        return True

    def _opens_array(self) -> bool:
        if self.parts is None or len(self.parts) != 1 or not self.parts[0].text.endswith("=") or self.arrays:
            return False
        self.arrays.append((self.words, self.parts, self.at))
        self.words, self.parts = [], None
        return True

    def _close_array(self) -> None:
        self._end_word()
        items = tuple(self.words)
        self.words, parts, opened = self.arrays.pop()
        self.start = self.line - self.text.count("\n", opened, self.at)
        self.parts = [*parts, WordPart("", items=items)]

    def _redirection(self, operator: str) -> None:
        if self.parts is not None and len(self.parts) == 1 and self.parts[0].text.isdigit():
            self.parts = None
        self._end_word()
        self.at += len(operator)
        self.redirected = operator

    def _dashed(self) -> bool:
        """Read a typographic dash at the start of a word as the hyphens that were meant."""
        found = dash(self.text, self.at) if self.parts is None else None
        if found is None:
            return False
        written, hyphens, end = found
        self.start = self.line
        self.corrected(written, f"a typographic dash; read as {hyphens}")
        self._add(WordPart(hyphens))
        self.at = end
        return True

    def _backslash(self) -> None:
        found = _CONTINUED.match(self.text, self.at)
        if found is None or (self.parts is not None and not found[0].endswith("\n")):
            self._add(WordPart(self.text[self.at + 1 : self.at + 2], quoted=True))
            self.advance(min(self.at + 2, len(self.text)))
            return
        if found[1].strip("\r"):
            self.corrected("\\", "a blank after the backslash ends the command; read as a continued line")
        self.advance(found.end())
        if not found[0].endswith("\n"):
            self.comment(behind_words=True)
            self.advance(min(self.at + 1, len(self.text)))
        comments = shell_parts.COMMENTS.match(self.text, self.at)
        if comments is not None:
            self.corrected("#", "a comment ends the command; read as a continued line")
            self.advance(comments.end())

    def _single(self, opening: str) -> None:
        closing = re.compile("'" if opening == "'" else f"[{_SINGLE}]").search(self.text, self.at + 1)
        if closing is None:
            self.unclosed()
        if opening != "'":
            self.corrected(opening, "a typographic quote; read as '")
        self._add(WordPart(self.text[self.at + 1 : closing.start()], quoted=True))
        self.advance(closing.end())

    def _double(self, opening: str) -> None:
        start, before = self.at, len(self.parts or ())
        if opening != '"':
            self.corrected(opening, 'a typographic quote; read as "')
        closing = '"' if opening == '"' else _DOUBLE
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] not in closing:
            self._inside()
        if self.at >= len(self.text):
            self.unclosed(start)
        if len(self.parts or ()) == before:
            self._add(WordPart("", quoted=True))
        self.at += 1

    def _inside(self) -> None:
        character, following = self.text[self.at], self.text[self.at + 1 : self.at + 2]
        if character == "\\":
            if following != "\n":
                self._add(WordPart(following if following in '"\\$`' else character + following, quoted=True))
            self.advance(min(self.at + 2, len(self.text)))
        elif character in "$`":
            self._dollar(quoted=True)
        else:
            found = _IN_DOUBLE.match(self.text, self.at)
            self._add(WordPart(found[0] if found else character, quoted=True))
            self.advance(self.at + (len(found[0]) if found else 1))

    def _dollar(self, *, quoted: bool) -> None:
        found = variable(self.text, self.at, quoted=quoted)
        if found is not None:
            self._add(found[0])
            self.advance(found[1])
        elif self.text.startswith(("${", "$(", "`"), self.at):
            self._braced(quoted=quoted)
        else:
            self._add(WordPart("$", quoted=quoted))
            self.at += 1

    def _braced(self, *, quoted: bool) -> None:
        commands = self.text.startswith("$(", self.at) and not self.text.startswith("$((", self.at)
        end = self._end_of_commands() if commands else self.matching()
        raw = self.text[self.at : end]
        found = _BRACED.fullmatch(raw[2:-1]) if raw.startswith("${") else None
        name, operator, other = found.groups("") if found is not None else ("", "", "")
        self._add(WordPart(raw, quoted=quoted, name=name, operator=operator, other=other))
        self.advance(end)

    def _end_of_commands(self) -> int:
        """Find the end of a command substitution, with its own quotes, comments and here-documents."""
        if self.level >= _MAX_DEPTH:
            self.unclosed(message=f"substitutions are nested more than {_MAX_DEPTH} levels deep")
        inner = _Lexer(self.text, line=self.line, indent=self.indent, level=self.level + 1)
        inner.at = self.at + 2
        while inner.at < len(inner.text) and inner.open > self.level:
            inner._step()
        if inner.open > self.level:
            self.unclosed()
        self.found += inner.found
        return inner.at
