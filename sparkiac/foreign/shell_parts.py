"""The parts that a shell text consists of: words, commands and here-documents."""

from __future__ import annotations

from typing import NamedTuple


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
