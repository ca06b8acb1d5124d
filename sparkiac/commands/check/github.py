"""Findings as workflow commands: GitHub shows each as an annotation at its line.

Format and escapes are those of GitHub's toolkit (actions/toolkit, packages/core/src/command.ts). GitHub requires that
columns are only given for a range within one line.
"""

from __future__ import annotations

from typing import Final

from sparkiac.formats.findings import details
from sparkiac.report import Finding, Report, Severity

_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_IN_MESSAGE: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY: Final = _IN_MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})


def commands(report: Report, *, file: str) -> str:
    """Return one command for each finding; findings without a position are at `file`."""
    return "".join(f"{_command(finding, file)}\n" for finding in report.findings)


def _command(finding: Finding, file: str) -> str:
    properties: dict[str, str | int] = {"file": finding.loc.file if finding.loc else file}
    if finding.loc is not None:
        mark = finding.loc.mark
        properties |= {"line": mark.line, "endLine": mark.end_line}
        if mark.line == mark.end_line:
            properties |= {"col": mark.column, "endColumn": mark.end_column}
    properties["title"] = f"{finding.code} {finding.slug}"
    written = ",".join(f"{key}={str(value).translate(_IN_PROPERTY)}" for key, value in properties.items())
    message = "\n".join((finding.message, *details(finding))).translate(_IN_MESSAGE)
    return f"::{_COMMANDS[finding.severity]} {written}::{message}"
