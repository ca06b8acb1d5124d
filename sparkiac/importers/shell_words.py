"""Commands of a shell text with their variables put in, as far as the text itself sets them.

A variable that the text does not set stays as it is written: `$HF_TOKEN` is the caller's. Conditions are not asked and
loops not run: each command counts once, and of what several branches set the last counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.importers.launch import Note
from sparkiac.importers.shell_lexer import simple_commands
from sparkiac.importers.shell_parts import Part, Word
from sparkiac.importers.unreadable import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sparkiac.importers.shell_parts import Document, Simple

MAX_EXPANDED: Final = 1 << 20
"""Characters that variables may grow to in one text."""
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=(.*)", re.DOTALL)
_DECLARES: Final = frozenset({"export", "declare", "local", "readonly", "typeset"})
_AROUND: Final = frozenset({"then", "do", "else", "elif", "if", "while", "until", "!", "{", "time"})
_CLOSING: Final = frozenset({"fi", "done", "esac", "}"})
_DEPTH: Final = {"if": 1, "while": 1, "until": 1, "for": 1, "case": 1, "fi": -1, "done": -1, "esac": -1}
_TESTS: Final = frozenset({"[", "[[", "test"})
_UNSET: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_IN_DOCUMENT: Final = re.compile(r"\\([$`\\])|\$\{?([A-Za-z_][A-Za-z0-9_]*|[0-9@*])\}?")
_DEEPEST: Final = 9
"""Defaults within defaults."""
_CONDITION: Final = "a condition sets it, and none is asked: what the last branch says is taken"
_ALTERNATIVE: Final = "whether the caller sets it cannot be known: what stands for it then is left out"
_ELSEWHERE: Final = "what that sets is not in this file"

Value = str | tuple[str, ...]


class Command(NamedTuple):
    """One command that runs a program."""

    words: tuple[str, ...]
    lines: tuple[int, ...]
    """Line of each word."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables that are set for it: exported before, or in front of it."""
    after: str = ""
    """Operator before it."""
    piped: bool = False
    """Whether it reads or writes for another command, or a file."""

    @property
    def line(self) -> int:
        """Give the line at which it begins."""
        return self.lines[0]


class Script(NamedTuple):
    """All commands of a text, and what it sets."""

    commands: tuple[Command, ...]
    variables: Mapping[str, Value]
    notes: tuple[Note, ...]
    documents: tuple[Document, ...]
    """Here-documents, with the variables put in."""


def script(
    text: str, *, variables: Mapping[str, Value] | None = None, line: int = 1, indent: int | None = None
) -> Script:
    """Read a text whose first line is `line` of its file, `indent` columns left of where it stands there."""
    found, notes = simple_commands(text, line=line, indent=indent)
    reader = _Reader(dict(variables or {}), [*notes])
    commands = tuple(command for each in found.commands if (command := reader.command(each)) is not None)
    documents = tuple(each._replace(text=reader.document(each)) for each in found.documents)
    return Script(commands, reader.variables, tuple(reader.notes), documents)


def unset(word: str) -> str | None:
    """Give the variable that a word takes its value from, if it is nothing but that."""
    found = _UNSET.fullmatch(word)
    return found[1] if found else None


def handed(words: Sequence[str], shell: int = 0) -> int | None:
    """Find the text that the shell at this place is handed by -c."""
    flags = range(shell + 1, len(words) - 1)
    return next((flag + 1 for flag in flags if re.fullmatch(r"-[a-z]*c", words[flag])), None)


def unread(documents: Iterable[Document]) -> Iterator[Note]:
    """Tell of here-documents that nothing is taken from."""
    for each in documents:
        yield Note("lost", each.opened, "<<", "a here-document is not read; save what it writes as a file")


class _Reader:
    """Follows the assignments of a text."""

    def __init__(self, variables: dict[str, Value], notes: list[Note]) -> None:
        self.variables, self.notes = variables, notes
        self.exported: dict[str, str] = {}
        self.conditional: dict[str, int] = {}
        """Variable that a condition sets → its line."""
        self.depth = 0
        self.tested = False
        self.grown = 0
        self.level = 0

    def command(self, simple: Simple) -> Command | None:
        """Give the command, or None for what sets variables or belongs to the shell."""
        words = [*simple.words]
        while words and _bare(words[0]) in _AROUND:
            self.depth += _DEPTH.get(_bare(words[0]), 0)
            del words[0]
        first = _bare(words[0]) if words else ""
        self.depth = max(self.depth + _DEPTH.get(first, 0), 0)
        asked = simple.after == "||" or (simple.after == "&&" and self.tested)
        self.tested = asked or first in _TESTS
        own: dict[str, str] = {}
        while words and (assigned := self._assigned(words[0])):
            own |= self._set(*assigned, line=words[0].line, asked=asked)
            del words[0]
        if not words or _bare(words[0]) in _CLOSING:
            return None
        if _bare(words[0]) in _DECLARES:
            self._declare(words[1:], asked=asked)
            return None
        pairs = [(text, word.line) for word in words for text in self._expanded(word)]
        if not pairs:
            return None
        env = tuple((self.exported | own).items())
        texts, lines = tuple(text for text, _ in pairs), tuple(line for _, line in pairs)
        return Command(texts, lines, env, simple.after, simple.piped)

    def document(self, document: Document) -> str:
        """Put variables into a here-document that the shell would put them in."""
        return _IN_DOCUMENT.sub(self._in_document, document.text) if document.expands else document.text

    def _in_document(self, found: re.Match[str]) -> str:
        value = found[1] or self.variables.get(found[2], f"${{{found[2]}}}")
        return value if isinstance(value, str) else " ".join(value)

    def _declare(self, words: Sequence[Word], *, asked: bool) -> None:
        for word in words:
            assigned = self._assigned(word)
            if assigned:
                self.exported |= self._set(*assigned, line=word.line, asked=asked)
            elif any(part.name == "" for part in word.parts):
                self.notes.append(Note("lost", word.line, "export", _ELSEWHERE))

    def _set(self, name: str, value: Value, *, line: int, asked: bool) -> dict[str, str]:
        if (asked or self.depth) and self.variables.get(name) != value:
            self.conditional[name] = line
        elif not (asked or self.depth):
            self.conditional.pop(name, None)
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
        text = " ".join(self._expanded(rest))
        return found[1], (before if isinstance(before, str) else "") + text

    def _expanded(self, word: Word) -> Iterator[str]:
        """Give the words that a word becomes: several where a variable holds blanks, none where it is empty."""
        fields: list[str] = []
        current: str | None = None
        for part in word.parts:
            value = part.text if part.name is None else self._value(part, word.line)
            pieces = [*value] if isinstance(value, tuple) else [value]
            if part.name is not None and not part.quoted and isinstance(value, str) and _is_split(part, value):
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
        name, value = part.name or "", self.variables.get(part.name or "")
        if name in self.conditional:
            self.notes.append(Note("corrected", self.conditional.pop(name), f"{name}=", _CONDITION))
        held = value is not None and (bool(value) or not part.operator.startswith(":"))
        if part.operator.endswith("+"):
            if name and value is None:
                self.notes.append(Note("lost", line, f"${{{name}:+…}}", _ALTERNATIVE))
            return self._other(part) if held else "" if part.quoted and "[" not in part.text else ()
        if value is not None and (held or not part.operator.endswith(("-", "="))):
            return _indexed(part, value)
        if not part.operator.endswith(("-", "=")):
            return f"${{{name}}}" if name and not name[0].isalpha() and name[0] != "_" else part.text
        why = f"its default is taken, for the file does not set {name}"
        self.notes.append(Note("corrected", line, f"${{{name}:-…}}", why))
        return self._other(part)

    def _other(self, part: Part) -> Value:
        """Read what stands in a variable's place: words of the shell, with variables of their own."""
        bare = '"' not in part.other and "'" not in part.other
        try:
            found, _ = simple_commands(f': "{part.other}"' if part.quoted and bare else f": {part.other}")
        except Unreadable:
            return part.other
        self.level += 1
        if self.level > _DEEPEST:
            message = f"defaults are nested more than {_DEEPEST} levels deep"
            raise Unreadable(message)
        words = found.commands[0].words[1:] if found.commands else ()
        texts = tuple(each for word in words for each in self._expanded(word))
        self.level -= 1
        return " ".join(texts) if part.quoted and bare else texts


def _is_split(part: Part, value: str) -> bool:
    """Whether the blanks of a value part words: of `$(…)`, which is not run, they are the command's own."""
    return value != part.text and "$(" not in value and "`" not in value


def _indexed(part: Part, value: Value) -> Value:
    """Give all of a list, its words as one, or its first, as a variable asks for it."""
    if isinstance(value, str) or "[@]" in part.text or ("[*]" in part.text and not part.quoted):
        return value
    return " ".join(value if "[*]" in part.text else value[:1])


def _bare(word: Word) -> str:
    """Give a word that is one unquoted text, or nothing."""
    parts: Sequence[Part] = word.parts
    return parts[0].text if len(parts) == 1 and not parts[0].quoted and parts[0].name is None else ""
