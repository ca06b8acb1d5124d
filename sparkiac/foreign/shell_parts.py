"""The parts that a shell text consists of, and the position of their reader."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, NoReturn

from sparkiac.foreign import redaction, values
from sparkiac.foreign.launch import Note, Unreadable

_UNCLOSED: Final = "a quote or bracket is opened here and not closed"
_BRACKET: Final = re.compile(r"\\.|'[^']*'|[(){}`]")


_NAME: Final = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])")
_ANSI: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}
_DASHES: Final = "\u2013\u2014\u2212"
COMMENTS: Final = re.compile(rf"(?:[^\S\n]*#[^\n]*\n)+(?=[^\S\n]*[-{_DASHES}])|(?:[^\S\n]*#[^\n]*\\[^\S\n]*\n)+")
"""Comments between continued lines."""
_OPTION: Final = re.compile(r"\s--?[A-Za-z]")
_COMMENTED: Final = "a comment: the shell does not read the options in it"
OPERATOR: Final = re.compile(r"&&|\|\||;;&?|;&|[;|()]|&(?!>)")
FUNCTION: Final = re.compile(r"\([^\S\n]*\)")
REDIRECTION: Final = re.compile(r"<<<|<<-?|&>>?|>>|[<>]&|>\||<>|[<>]")
PLACEHOLDER: Final = re.compile(r"<[A-Za-z][\w./ -]{0,60}>(?=\s|$)")
_DASH: Final = re.compile(rf"-*[{_DASHES}][-{_DASHES}]*(?=(\w+))")
SHELLS: Final = values.words("bash sh dash zsh ash su")
WRAPPERS: Final = values.words(
    "sudo exec nohup time timeout env nice ionice stdbuf command setsid tini dumb-init nvidia_entrypoint.sh"
)
"""Programs that run another program."""
ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=(.*)", re.DOTALL)
_TIME: Final = re.compile(r"\d+(\.\d+)?[smhd]?")
_NAMING: Final = frozenset({"-u", "-g"})
"""Options of sudo and env whose value, the next word, is a name."""
PATTERN: Final = "pattern"
MAX_EXPANDED: Final = 1 << 20
"""Limit in characters for the values of all variables of one script or unit together."""
TOO_LARGE: Final = f"variables grow to more than {MAX_EXPANDED} characters"
_UNSET: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_SUM: Final = re.compile(r"\$\(\(\s*\$?(\w{1,40})\s*([-+*])\s*\$?(\w{1,40})\s*\)\)")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,8}")

Value = str | tuple[str, ...]


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


def variable(text: str, at: int, *, quoted: bool) -> tuple[WordPart, int] | None:
    """Read `$NAME` or `$'…'` and return the position after it; None for anything else."""
    ansi, named = None if quoted else _ANSI.match(text, at), _NAME.match(text, at)
    if ansi is not None:
        return WordPart(re.sub(r"\\(.)", lambda at: _ESCAPES.get(at[1], at[1]), ansi[1]), quoted=True), ansi.end()
    return None if named is None else (WordPart(named[0], quoted=quoted, name=named[1]), named.end())


def dash(text: str, at: int) -> tuple[str, str, int] | None:
    """Read a typographic dash at the start of a word: its text with the word, the hyphens that were meant, the end."""
    found = _DASH.match(text, at)
    if found is None:
        return None
    is_short = len(found[1]) == 1 == len(found[0]) and found[0] != "\u2014"
    return found[0] + found[1], "-" if is_short else "--", found.end()


def shell_argument(words: Sequence[str]) -> tuple[int, dict[str, Value]] | None:
    """Return the index of the script that follows the option -c of a shell, and its parameters; None without -c."""
    flags = range(1, len(words) - 1)
    place = next((flag + 1 for flag in flags if re.fullmatch(r"-[a-z]*c", words[flag])), None)
    if place is None:
        return None
    given = words[place + 1 :]
    return place, {"@": tuple(given[1:]), **{str(number): word for number, word in enumerate(given)}}


def variable_name(word: str) -> str | None:
    """Return the variable's name if a word is only a variable."""
    found = _UNSET.fullmatch(word)
    return found[1] if found else None


def total(text: str, variables: Mapping[str, Value]) -> str:
    """Return the result of `$((A + B))` if both are known numbers, or else the text."""
    found = _SUM.fullmatch(text)
    if found is None:
        return text
    first, second = (str(variables.get(found[at], found[at])) for at in (1, 3))
    if not (_NUMBER.fullmatch(first) and _NUMBER.fullmatch(second)):
        return text
    apply = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}[found[2]]
    return str(apply(int(first), int(second)))


class Word(NamedTuple):
    """One word."""

    parts: tuple[WordPart, ...]
    line: int

    @property
    def literal(self) -> str:
        """Return the text of an unquoted literal word, or an empty text."""
        first = self.parts[0]
        return first.text if len(self.parts) == 1 and not first.quoted and first.name is None else ""


class Simple(NamedTuple):
    """One simple command, without its redirections."""

    words: tuple[Word, ...]
    line: int
    after: str = ""
    """Operator before it: `&&`, `||`, `|`, `;` or none; PATTERN for the patterns of a branch of `case`."""
    piped: bool = False
    """Whether a pipe or a file is connected to its input or output."""
    output: str = ""
    """File that it writes."""


class HereDocument(NamedTuple):
    """A here-document."""

    text: str
    line: int
    """First line of its text in the file."""
    opened: int
    """Line of the command that reads it."""
    expands: bool
    """Whether the shell expands variables in it."""


def unread(documents: Iterable[HereDocument]) -> Iterator[Note]:
    """Note here-documents that are not imported."""
    for each in documents:
        yield Note("lost", each.opened, "<<", "a here-document is not read; save its text as a file and import that")


class Text(NamedTuple):
    """A whole text, split into commands."""

    commands: tuple[Simple, ...]
    documents: tuple[HereDocument, ...]


class ShellCommand(NamedTuple):
    """One command that runs a program."""

    words: tuple[str, ...]
    lines: tuple[int, ...]
    """Line of each word."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables set for it: exported before, or assigned in front of it."""
    after: str = ""
    """Operator before it."""
    piped: bool = False
    """Whether a pipe or a file is connected to its input or output."""
    output: str = ""
    """File that it writes."""

    @property
    def line(self) -> int:
        """Return its first line."""
        return self.lines[0]

    @property
    def program(self) -> str:
        """Return the name of its program, without the directory."""
        return self.words[0].rpartition("/")[2]

    def unwrapped(self) -> ShellCommand:
        """Return the command that sudo, nohup, tini and the like run, with the variables assigned in front of it."""
        at, env = 0, dict(self.env)
        while at < len(self.words) - 1:
            word = self.words[at]
            assigned = ASSIGNMENT.fullmatch(word)
            if assigned is not None:
                env[assigned[1]] = assigned[3]
            elif word.rpartition("/")[2] not in WRAPPERS and not (
                at and (word.startswith("-") or _TIME.fullmatch(word))
            ):
                break
            at += 1 + (assigned is None and word in _NAMING)
        return self._replace(words=self.words[at:], lines=self.lines[at:], env=tuple(env.items()))


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

    def comment(self, *, behind_words: bool) -> None:
        """Move past a comment, and note the options of a command in it."""
        start = self.at
        self.skip_line()
        if behind_words and _OPTION.search(self.text, start, self.at):
            text = redaction.redacted(self.text[start : self.at])
            self.notes.append(Note("unused", self.line, text, _COMMENTED))

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
