"""The values that all stages use: here findings, their positions and the report; nothing of it prints or reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum, IntEnum
from typing import Final, NamedTuple, TypeAlias

from sparkiac.report import characters

Path = tuple[str | int, ...]
"""Path of a value in a YAML document: keys and list indices from the top."""


class Mark(NamedTuple):
    """Start and end of a text in a file. Lines and columns count from 1; the end column is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Loc(NamedTuple):
    """A position in a file, with the text of the line."""

    file: str
    mark: Mark
    text: str


class Origin(NamedTuple):
    """Where a resolved value comes from: its layer, and the file position if the layer is a file."""

    layer: str
    file: str | None = None
    mark: Mark | None = None

    def __str__(self) -> str:
        """Return the layer and, if it is a file, its name and line."""
        if self.file is None:
            return self.layer
        return f"{self.layer} {self.file}" + (f":{self.mark.line}" if self.mark else "")


class Severity(IntEnum):
    """Severity of a finding. Errors stop generation."""

    INFO = 1
    WARNING = 2
    ERROR = 3

    def __str__(self) -> str:
        """Return the name in lower case, as printed."""
        return self.name.lower()


class Removal(Enum):
    """Type of REMOVE, which an edit has instead of a new value."""

    REMOVE = "remove"


REMOVE: Final = Removal.REMOVE
"""Marks an edit that removes the value and its key."""
Scalar: TypeAlias = str | int | float | bool | None


class Edit(NamedTuple):
    """One change of an inventory: set, add or remove the value at a path."""

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
    """Edits of the inventory that resolve the finding, if the repair is mechanical."""
    subject: tuple[str, ...] = ()
    """Names in its message: of the deployment, service, host or build that it is about."""
    setting: str = ""
    """Name of the setting that it is about."""

    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Return the sort key: file, position, code and message."""
        if self.loc is None:
            return ("", 0, 0, self.code, self.message)
        return (self.loc.file, self.loc.mark.line, self.loc.mark.column, self.code, self.message)


class Report(NamedTuple):
    """All findings of one run, sorted by file and position."""

    findings: tuple[Finding, ...] = ()

    @staticmethod
    def of(findings: Iterable[Finding]) -> Report:
        """Sort findings, drop duplicates, and escape control characters in their texts."""
        return Report(tuple(sorted(dict.fromkeys(map(_escaped, findings)), key=Finding.sort_key)))

    def number_of(self, severity: Severity) -> int:
        """Return the number of findings with this severity."""
        return sum(finding.severity is severity for finding in self.findings)

    @property
    def failed(self) -> bool:
        """Return whether at least one finding is an error."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    def new_errors(self, former: Report) -> list[Finding]:
        """Return the errors that a former report does not have; positions in the file are not compared."""
        known = Counter((each.code, each.message) for each in former.findings)
        added: list[Finding] = []
        for each in self.findings:
            if each.severity is Severity.ERROR and known[each.code, each.message] < 1:
                added.append(each)
            known[each.code, each.message] -= 1
        return added


def _escaped(finding: Finding) -> Finding:
    """Escape control characters. The excerpt stays unchanged so that its columns remain correct."""
    texts = finding.message, finding.hint, finding.source
    loc = finding.loc and finding.loc._replace(file=characters.escaped_line(finding.loc.file))
    message, hint, source = map(characters.escaped_line, texts)
    return finding._replace(message=message, hint=hint, source=source, loc=loc)
