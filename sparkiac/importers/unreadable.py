"""The exceptions of the importers."""

from __future__ import annotations


class Unreadable(ValueError):  # noqa: N818  it says what the file is
    """A file that is not of its format. Lines and columns count from 1; the message holds nothing of a value."""

    def __init__(self, message: str, *, line: int = 1, column: int = 1) -> None:
        """Say what is wrong, and where."""
        super().__init__(message)
        self.line = line
        self.column = column
        self.file: str | None = None
        """Name of the file, once it is known among several."""


class StartsNothing(Unreadable):
    """A file of its format that starts no server and no container: in a directory it is left out."""
