"""Commands of a shell text with their variables expanded, as far as the text itself sets them.

A variable that the text does not set stays unexpanded: `$HF_TOKEN` belongs to the caller. Conditions are not
evaluated and loops not run: each command counts once, and the last assignment of several branches wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from sparkiac.foreign import values
from sparkiac.foreign.launch import Note, Unreadable
from sparkiac.foreign.shell_lexer import simple_commands
from sparkiac.foreign.shell_parts import (
    ASSIGNMENT,
    MAX_EXPANDED,
    PATTERN,
    TOO_LARGE,
    HereDocument,
    ShellCommand,
    Simple,
    Value,
    Word,
    WordPart,
    total,
)

_DECLARATIONS: Final = frozenset({"export", "declare", "local", "readonly", "typeset"})
_AROUND: Final = frozenset({"then", "do", "else", "elif", "if", "while", "until", "!", "{", "time"})
_CLOSING: Final = frozenset({"fi", "done", "esac", "}"})
_CLOSED_BY: Final = {"if": "fi", "while": "done", "until": "done", "for": "done", "select": "done", "case": "esac"}
_STARTS: Final = re.compile(r"\b(?:docker|podman|nerdctl)\b.*\b(?:run|create)\b", re.DOTALL)
_TESTS: Final = frozenset({"[", "[[", "test"})
_IN_DOCUMENT: Final = re.compile(r"\\([$`\\])|\$(\{)?([A-Za-z_][A-Za-z0-9_]*|[0-9@*])(?(2)(?::?-[^{}$`\n]*)?\})")
"""An escape, or a variable; the default of one that the script does not set is left to the reader of the document."""
_MAX_DEPTH: Final = 9
"""Limit for defaults within defaults, such as ${A:-${B:-c}}."""
_MOST: Final = 200  # commands such as `if` that are open, and exported variables, which each command has
_CONDITION: Final = "a condition sets it, and conditions are not evaluated: the last value is used"
_ALTERNATIVE: Final = "it depends on whether the caller sets the variable, which is unknown: it is left out"
_OPEN: Final = "`{}` is not closed: the shell refuses this file"
_CLOSES: Final = "`{}` closes nothing: the shell refuses this file"
_ELSEWHERE: Final = "the variables that this sets are not imported"


class Script(NamedTuple):
    """All commands of a text, and the variables that it sets."""

    commands: tuple[ShellCommand, ...]
    variables: Mapping[str, Value]
    notes: tuple[Note, ...]
    documents: tuple[HereDocument, ...]
    """Here-documents with their variables expanded."""


def script(
    text: str,
    *,
    variables: Mapping[str, Value] | None = None,
    line: int = 1,
    indent: int | None = None,
    whole: bool = False,
) -> Script:
    """Read a text that begins on this line of its file, with `indent` columns removed from each line.

    Raises Unreadable for a text that no shell reads; of a `whole` file, also if `if`, `case` or a loop is not closed.
    """
    found, notes = simple_commands(text, line=line, indent=indent)
    reader = _Expander(dict(variables or {}), [*notes])
    commands = tuple(command for each in found.commands for command in reader.commands(each))
    broken = reader.broken or next(((_OPEN.format(word), at) for word, at in reader.open), None)
    if whole and broken is not None:
        raise Unreadable(broken[0], line=broken[1])
    documents = tuple(each._replace(text=reader.document(each)) for each in found.documents)
    return Script(commands, reader.variables, tuple(reader.notes), documents)


def split(text: str) -> tuple[str, ...]:
    """Return the words of all commands of a text."""
    return tuple(word for command in script(text).commands for word in command.words)


class _OpenCase(NamedTuple):
    """A `case` that is open."""

    value: str | None
    """None if it is unknown; then all branches count."""
    taken: bool = False
    active: bool = True

    def at(self, patterns: Sequence[str]) -> _OpenCase:
        """Return the state in the branch with these patterns."""
        if self.value is None:
            return self
        matches = not self.taken and any(fnmatchcase(self.value, pattern) for pattern in patterns)
        return self._replace(taken=self.taken or matches, active=matches)


class _Expander:
    """Tracks the assignments of a text."""

    def __init__(self, variables: dict[str, Value], notes: list[Note]) -> None:
        self.variables, self.notes = variables, notes
        self.exported: dict[str, tuple[str, str]] = {}  # name → name and value, which all commands share
        self.conditional: dict[str, int] = {}
        """Variable that a condition sets → its line."""
        self.tested = False
        self.grown = 0
        self.level = 0
        self.open: list[tuple[str, int]] = []
        """`if`, `case` and loops that are open, with their lines."""
        self.broken: tuple[str, int] | None = None
        self.cases: list[_OpenCase] = []

    def commands(self, simple: Simple) -> Iterator[ShellCommand]:
        """Yield the containers that its substitutions start, and the command unless it is shell syntax."""
        if simple.after == PATTERN:
            if self.cases:
                self.cases[-1] = self.cases[-1].at(tuple(" ".join(self._expanded(word)) for word in simple.words))
            return
        self._track(simple)
        if not all(case.active for case in self.cases):
            return
        for word in simple.words:
            for part in word.parts:
                if part.name == "" and part.text.startswith("$(") and _STARTS.search(part.text):
                    inner, _ = simple_commands(part.text[2:-1], line=word.line)
                    yield from (command for each in inner.commands for command in self.commands(each))
        command = self._command(simple)
        if command is not None:
            yield command

    def _track(self, simple: Simple) -> None:
        """Track which commands are open; of a `case` over a known value, one branch counts."""
        words = [word for word in simple.words if word.literal not in _AROUND - _CLOSED_BY.keys()]
        first = words[0].literal if words else ""
        if first in _CLOSED_BY and not (first == "case" and len(words) < 3):  # noqa: PLR2004  case WORD in
            self.open.append((first, words[0].line))
            if len(self.open) > _MOST:
                raise Unreadable(f"more than {_MOST} commands such as `if` are open", line=words[0].line)
        elif first in _CLOSED_BY.values() and self.open and _CLOSED_BY[self.open[-1][0]] == first:
            self.open.pop()
        elif first in _CLOSED_BY.values():
            self.broken = self.broken or (_CLOSES.format(first), words[0].line)
        if first == "case" and len(words) == 3:  # noqa: PLR2004  case WORD in
            self.cases.append(_OpenCase(self._known(words[1])))
        elif first == "esac" and self.cases:
            self.cases.pop()

    def _known(self, word: Word) -> str | None:
        """Return the value of a word, or None if it depends on a condition, the caller or a command."""
        text = " ".join(self._expanded(word))
        is_open = any(part.name in self.conditional for part in word.parts)
        return None if is_open or values.is_unknown(text) or "$" in text or "`" in text else text

    def _command(self, simple: Simple) -> ShellCommand | None:
        """Return the command, or None for assignments and shell syntax."""
        words = [*simple.words]
        while words and words[0].literal in _AROUND:
            del words[0]
        first = words[0].literal if words else ""
        if first == "case" and self.cases and self.cases[-1].value is not None:
            return None
        is_conditional = simple.after == "||" or (simple.after == "&&" and self.tested)
        self.tested = is_conditional or first in _TESTS
        own: dict[str, tuple[str, str]] = {}
        while words and (assigned := self._assigned(words[0])):
            own |= self._set(*assigned, line=words[0].line, is_conditional=is_conditional)
            del words[0]
        if not words or words[0].literal in _CLOSING:
            return None
        if words[0].literal in _DECLARATIONS:
            self._declare(words[1:], is_conditional=is_conditional)
            return None
        pairs = [(text, word.line) for word in words for text in self._expanded(word)]
        if not pairs:
            return None
        env = tuple((self.exported | own).values())
        texts, lines = tuple(text for text, _ in pairs), tuple(line for _, line in pairs)
        return ShellCommand(texts, lines, env, simple.after, simple.piped, simple.output)

    def document(self, document: HereDocument) -> str:
        """Expand variables in a here-document, unless its delimiter is quoted."""

        def put(found: re.Match[str]) -> str:
            value = found[1] or self.variables.get(found[3], found[0] if found[2] else f"${{{found[3]}}}")
            text = value if isinstance(value, str) else " ".join(value)
            self._grow(len(text), document.opened)
            return text

        return _IN_DOCUMENT.sub(put, document.text) if document.expands else document.text

    def _grow(self, size: int, line: int) -> None:
        self.grown += size
        if self.grown > MAX_EXPANDED:
            raise Unreadable(TOO_LARGE, line=line)

    def _declare(self, words: Sequence[Word], *, is_conditional: bool) -> None:
        for word in words:
            assigned = self._assigned(word)
            if assigned:
                self.exported |= self._set(*assigned, line=word.line, is_conditional=is_conditional)
                if len(self.exported) > _MOST:
                    raise Unreadable(f"more than {_MOST} variables are exported", line=word.line)
            elif any(part.name == "" for part in word.parts):
                self.notes.append(Note("lost", word.line, "export", _ELSEWHERE))

    def _set(self, name: str, value: Value, *, line: int, is_conditional: bool) -> dict[str, tuple[str, str]]:
        is_conditional = is_conditional or len(self.open) > sum(case.value is not None for case in self.cases)
        if is_conditional and self.variables.get(name) != value:
            self.conditional[name] = line
        elif not is_conditional:
            self.conditional.pop(name, None)
        self.variables[name] = value
        return {name: (name, value)} if isinstance(value, str) else {}

    def _assigned(self, word: Word) -> tuple[str, Value] | None:
        first = word.parts[0]
        found = ASSIGNMENT.fullmatch(first.text) if not first.quoted and first.name is None else None
        if found is None:
            return None
        before = self.variables.get(found[1]) if found[2] else None
        items = next((part.items for part in word.parts if part.items is not None), None)
        if items is not None:
            added = tuple(text for item in items for text in self._expanded(item))
            return found[1], (*((before,) if isinstance(before, str) else before or ()), *added)
        rest = Word((WordPart(found[3]), *(part._replace(quoted=True) for part in word.parts[1:])), word.line)
        text = " ".join(self._expanded(rest))
        return found[1], (before if isinstance(before, str) else "") + text

    def _expanded(self, word: Word) -> Iterator[str]:
        """Yield the words that a word expands to: several if a variable contains blanks, none if it is empty."""
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
        self._grow(sum(map(len, fields)) + len(current or ""), word.line)
        yield from fields
        if current is not None:
            yield current

    def _value(self, part: WordPart, line: int) -> Value:
        name, value = part.name or "", self.variables.get(part.name or "")
        if name in self.conditional:
            self.notes.append(Note("corrected", self.conditional.pop(name), f"{name}=", _CONDITION))
        is_set = value is not None and (bool(value) or not part.operator.startswith(":"))
        if part.operator.endswith("+"):
            if name and value is None:
                self.notes.append(Note("lost", line, f"${{{name}:+…}}", _ALTERNATIVE))
            return self._replacement(part) if is_set else "" if part.quoted and "[" not in part.text else ()
        if value is not None and (is_set or not part.operator.endswith(("-", "="))):
            return _indexed(part, value)
        if not part.operator.endswith(("-", "=")):
            is_parameter = name and not name[0].isalpha() and name[0] != "_"  # of the script or the shell
            return f"${{{name}}}" if is_parameter else total(part.text, self.variables)
        why = f"the default is used, because the file does not set {name}"
        self.notes.append(Note("corrected", line, f"${{{name}:-…}}", why))
        found = self._replacement(part)
        if part.operator.endswith("="):
            self.variables[name] = found if isinstance(found, str) else " ".join(found)
        return found

    def _replacement(self, part: WordPart) -> Value:
        bare = '"' not in part.other and "'" not in part.other
        try:
            found, _ = simple_commands(f': "{part.other}"' if part.quoted and bare else f": {part.other}")
        except Unreadable:
            return part.other
        self.level += 1
        if self.level > _MAX_DEPTH:
            raise Unreadable(f"defaults are nested more than {_MAX_DEPTH} levels deep")
        words = found.commands[0].words[1:] if found.commands else ()
        texts = tuple(each for word in words for each in self._expanded(word))
        self.level -= 1
        return " ".join(texts) if part.quoted and bare else texts


def _is_split(part: WordPart, value: str) -> bool:
    """Return whether blanks in a value separate words. Those of an unexpanded `$(…)` belong to its command."""
    return value != part.text and "$(" not in value and "`" not in value


def _indexed(part: WordPart, value: Value) -> Value:
    """Return all words of a list, the words joined, or the first word, as the variable's index specifies."""
    if isinstance(value, str) or part.name == "@" or "[@]" in part.text or ("[*]" in part.text and not part.quoted):
        return value
    return " ".join(value if "[*]" in part.text else value[:1])
