"""What the words of a shell text are made of."""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    """A stretch of a word: a text, or a variable."""

    text: str
    """As it is meant; of a variable or a substitution, as it is written."""
    quoted: bool = False
    name: str | None = None
    """The variable."""
    operator: str = ""
    """What stands between the name and `other`: `:-`, `-`, `:=`, `=`, `:+`, `+`, `:?`, `?`."""
    other: str = ""
    """Text of the shell that may stand in the variable's place."""
    items: tuple[Word, ...] | None = None
    """Words of an array that is assigned."""


class Word(NamedTuple):
    """One word."""

    parts: tuple[Part, ...]
    line: int


class Simple(NamedTuple):
    """One simple command, without its redirections."""

    words: tuple[Word, ...]
    line: int
    after: str = ""
    """Operator before it: `&&`, `||`, `|`, `;` or none."""
    piped: bool = False
    """Whether it reads or writes for another command, or a file."""


class Document(NamedTuple):
    """A here-document."""

    text: str
    line: int
    """Line of the file at which it begins."""
    opened: int
    """Line of the command that reads it."""
    expands: bool
    """Whether the shell puts variables in."""


class Text(NamedTuple):
    """A whole text, cut into commands."""

    commands: tuple[Simple, ...]
    documents: tuple[Document, ...]
