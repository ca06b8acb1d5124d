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
    default: str | None = None
    """What stands for it where it is not set, or set to nothing."""
    keeps_empty: bool = False
    """Whether nothing counts as a value: `${NAME-default}`."""
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
