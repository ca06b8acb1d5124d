"""Why a tree is not written. Real input and output errors stay `OSError`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sparkiac.characters import escaped_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


class WriteError(Exception):
    """Nothing was written. `problems` says what is wrong with each path, `reason` what that means.

    Paths are relative to the target (`.` is the target itself) and sorted.
    """

    def __init__(self, problems: Mapping[str, str], *, reason: str) -> None:
        """Keep the problems in the order of their paths, printable even if a name is not UTF-8."""
        super().__init__(problems, reason)
        self.reason = reason
        self.problems = {escaped_line(path): problems[path] for path in sorted(problems)}

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths concerned, sorted."""
        return tuple(self.problems)

    def __str__(self) -> str:
        """Reason first, then one line for each path."""
        return "\n".join([self.reason, *(f"  {path}: {problem}" for path, problem in self.problems.items())])


class Refused(WriteError):  # noqa: N818 - the word that the exit code and the guides use
    """Writing would lose something that a person made. `force` goes on."""


class Unsafe(WriteError):  # noqa: N818
    """The target or a path is not what a tree of plain files can be written to. `force` does not help."""


class Busy(WriteError):  # noqa: N818
    """Another run is writing the same target."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the path to an error of the disk that names none, such as a full disk while writing."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise
