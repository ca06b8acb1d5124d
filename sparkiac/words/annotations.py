"""Findings for other programs: SARIF 2.1.0 for code scanning and viewers, and workflow commands for GitHub.

Source of SARIF: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0. GitHub shows each command as
an annotation at its line; format and escapes are those of its toolkit (actions/toolkit, packages/core/src/command.ts),
which requires that columns are only given for a range within one line.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any, Final

from sparkiac import __version__
from sparkiac.report import Finding, Report, Severity
from sparkiac.rules.pages import Page, pages
from sparkiac.words import rules as of_rules
from sparkiac.words.findings import details

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_FINGERPRINT: Final = "sparkiacFinding/v1"
"""Name of the fingerprint; its number changes with the algorithm."""
_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_IN_MESSAGE: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY: Final = _IN_MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})


def sarif(report: Report, *, file: str) -> dict[str, Any]:
    """Return a log with one run and all rules; findings without a position are at `file`."""
    rules = pages()
    codes = list(rules)
    seen = Counter[str]()
    results = []
    for finding in report.findings:
        key = _key(finding, file)
        results.append(_result(finding, codes.index(finding.code), file, f"{key}:{seen[key]}"))
        seen[key] += 1
    driver = {"name": "sparkiac", "semanticVersion": __version__, "rules": [_rule(page) for page in rules.values()]}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def commands(report: Report, *, file: str) -> str:
    """Return one command for each finding; findings without a position are at `file`."""
    return "".join(f"{_command(finding, file)}\n" for finding in report.findings)


def _rule(page: Page) -> dict[str, Any]:
    rule = page.rule
    return {
        "id": rule.code,
        "name": rule.slug,
        "shortDescription": {"text": page.title},
        "fullDescription": {"text": " ".join(page.why.partition("\n\n")[0].split())},
        "help": {"text": page.text, "markdown": of_rules.markdown(page)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(finding: Finding, index: int, file: str, fingerprint: str) -> dict[str, Any]:
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": "\n".join((finding.message, *details(finding)))},
        "locations": [{"physicalLocation": _place(finding, file)}],
        "partialFingerprints": {_FINGERPRINT: fingerprint},
    }


def _place(finding: Finding, file: str) -> dict[str, Any]:
    if finding.loc is None:
        return {"artifactLocation": {"uri": _uri(file)}}
    mark = finding.loc.mark
    region = {
        "startLine": mark.line,
        "startColumn": mark.column,
        "endLine": mark.end_line,
        "endColumn": mark.end_column,
    }
    return {"artifactLocation": {"uri": _uri(finding.loc.file)}, "region": region}


def _uri(file: str) -> str:
    """Return a path as a URI reference; a relative path stays relative."""
    uri = Path("/", file).as_uri()
    return uri if Path(file).is_absolute() else uri.removeprefix("file:///")


def _key(finding: Finding, file: str) -> str:
    """Return a hash that does not change when lines are added above: of code, file and the text of the line.

    The message is not included because some messages name another line. Equal findings are distinguished by order.
    """
    place = (finding.loc.file, finding.loc.text.strip()) if finding.loc else (file, finding.message)
    return hashlib.sha256("\0".join((finding.code, *place)).encode()).hexdigest()[:32]


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
