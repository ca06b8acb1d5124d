"""Errors that prevent writing. Input and output errors stay `OSError`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sparkiac.report.characters import escaped_line


class WriteError(Exception):
    """Nothing was written. `reason` is the error, and `problems` has the problem of each path.

    Paths are relative to the target (`.` is the target itself) and sorted.
    """

    def __init__(self, problems: Mapping[str, str], *, reason: str) -> None:
        """Sort the problems by path, and make the paths printable even if a name is not UTF-8."""
        super().__init__(problems, reason)
        self.reason = reason
        self.problems = {escaped_line(path): problems[path] for path in sorted(problems)}

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths with a problem, sorted."""
        return tuple(self.problems)

    def __str__(self) -> str:
        """Return the reason, followed by a line for each path."""
        return "\n".join([self.reason, *(f"  {path}: {problem}" for path, problem in self.problems.items())])


class WouldOverwrite(WriteError):  # noqa: N818
    """Writing would overwrite files that were edited by hand or not written by sparkiac. `force` overwrites them."""


class UnsafeTarget(WriteError):  # noqa: N818
    """The target, or a path in it, is not a plain file or directory. `force` does not help."""


class Busy(WriteError):  # noqa: N818
    """Another run is writing the same target."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the path to an OSError without a file name, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise
