"""Values that say what was found and where: no printing, no policy, no file access."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from sparkiac import characters

if TYPE_CHECKING:
    from collections.abc import Iterable

Path = tuple[str | int, ...]
"""Where a value sits in a YAML document: keys and list indices from the top."""


class Mark(NamedTuple):
    """A stretch of text. Lines and columns count from 1; the end column is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Loc(NamedTuple):
    """A place in a file, with the user's own line."""

    file: str
    mark: Mark
    text: str


class Origin(NamedTuple):
    """Where a resolved value was decided: which layer, and the place when that layer is a file."""

    layer: str
    file: str | None = None
    mark: Mark | None = None

    def __str__(self) -> str:
        """Name the layer and, if it is a file, the line."""
        if self.file is None:
            return self.layer
        return f"{self.layer} {self.file}" + (f":{self.mark.line}" if self.mark else "")


class Severity(IntEnum):
    """How bad a finding is. An error stops generation."""

    INFO = 1
    WARNING = 2
    ERROR = 3

    def __str__(self) -> str:
        """Lower-case word, as printed."""
        return self.name.lower()


class Removal(Enum):
    """What an edit says in the place of a value."""

    REMOVE = "remove"


REMOVE: Final = Removal.REMOVE
"""Take the value away, with its key."""
Scalar: TypeAlias = str | int | float | bool


class Edit(NamedTuple):
    """One change of an inventory: the value at a path becomes another one, is added or goes."""

    path: Path
    value: Scalar | Removal


class Finding(NamedTuple):
    """One result of a check."""

    code: str
    slug: str
    severity: Severity
    message: str
    loc: Loc | None = None
    hint: str = ""
    source: str = ""
    origin: Origin | None = None
    fix: tuple[Edit, ...] = ()
    """What mends it, if that is mechanical."""

    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Order by file, place, code and text."""
        if self.loc is None:
            return ("", 0, 0, self.code, self.message)
        return (self.loc.file, self.loc.mark.line, self.loc.mark.column, self.code, self.message)


class Report(NamedTuple):
    """All findings of one run, sorted by file and place."""

    findings: tuple[Finding, ...] = ()

    @staticmethod
    def of(findings: Iterable[Finding]) -> Report:
        """Sort findings and drop repeated ones. What they quote is made fit to be shown."""
        return Report(tuple(sorted(dict.fromkeys(map(_shown, findings)), key=Finding.sort_key)))

    def number_of(self, severity: Severity) -> int:
        """How many findings have exactly this severity."""
        return sum(finding.severity is severity for finding in self.findings)

    @property
    def failed(self) -> bool:
        """True when at least one finding is an error."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)


def _shown(finding: Finding) -> Finding:
    """Escape what a terminal would obey. The excerpt stays as it is, for its columns."""
    texts = finding.message, finding.hint, finding.source
    loc = finding.loc and finding.loc._replace(file=characters.escaped_line(finding.loc.file))
    message, hint, source = map(characters.escaped_line, texts)
    return finding._replace(message=message, hint=hint, source=source, loc=loc)
