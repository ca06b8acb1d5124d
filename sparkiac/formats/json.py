"""Findings for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sparkiac.report import Finding, Report

FORMAT_VERSION: Final = 1


def findings(report: Report) -> dict[str, Any]:
    """Give {"format_version": 1, "findings": [{code, slug, severity, message, file, line, column, …}]}."""
    return {"format_version": FORMAT_VERSION, "findings": [plain(finding) for finding in report.findings]}


def plain(finding: Finding) -> dict[str, Any]:
    """Give one finding; keys that it says nothing about are left out."""
    data: dict[str, Any] = {
        "code": finding.code,
        "slug": finding.slug,
        "severity": str(finding.severity),
        "message": finding.message,
    }
    if finding.loc is not None:
        mark = finding.loc.mark
        data |= {
            "file": finding.loc.file,
            "line": mark.line,
            "column": mark.column,
            "end_line": mark.end_line,
            "end_column": mark.end_column,
        }
    extras: dict[str, Any] = {"hint": finding.hint, "source": finding.source, "origin": str(finding.origin or "")}
    extras |= {"fixable": bool(finding.fix)}
    return data | {key: value for key, value in extras.items() if value}
