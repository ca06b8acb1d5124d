"""Findings as text and as data. The commands that print them decide which ones."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, Final

from sparkiac.catalog.evidence import documents
from sparkiac.report import Finding, Loc, Report, Severity
from sparkiac.report.characters import escaped_line
from sparkiac.report.hints import LOCK_IT
from sparkiac.words.page import counted, natural, ranges

FORMAT_VERSION: Final = 1
TITLES: Final = {name: each["title"] for name, each in documents().items() if "title" in each}
"""Short name in a rule or recipe → title of the document; docs/sources.md describes each of them."""
_NAMED: Final = re.compile(rf"(?P<name>{'|'.join(TITLES)})(?: L[0-9]+(?:-[0-9]+)?(?:, L[0-9]+(?:-[0-9]+)?)*)?")
_COLOURS: Final = {Severity.ERROR: "\x1b[31m", Severity.WARNING: "\x1b[33m", Severity.INFO: "\x1b[36m"}
_BOLD: Final = "\x1b[1m"
_RESET: Final = "\x1b[0m"
_WIDEST: Final = 160
_LISTED: Final = 5
"""Most names that are shown in full; of more, the first ones and the last are."""


def as_text(report: Report, *, colour: bool) -> str:
    """Return all findings and a last line that counts them; an empty text for an empty report."""
    together = alike(report.findings)
    lines = [each for found in together for each in _finding(found, colour=colour)]
    if lines:
        once = "; those with one cause are shown once" if len(together) < len(report.findings) else ""
        lines.append(f"{counts(report)}{once}")
    return "".join(f"{each}\n" for each in lines)


def counts(report: Report) -> str:
    """Return the number of findings, such as `1 error, 2 warnings`."""
    words = ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "note"))
    parts = [counted(number, word) for severity, word in words if (number := report.number_of(severity))]
    return ", ".join(parts) or "no findings"


def as_data(report: Report) -> dict[str, Any]:
    """Return {"format_version": 1, "findings": [{code, slug, severity, message, file, line, column, …}]}."""
    return {"format_version": FORMAT_VERSION, "findings": [data_of(finding) for finding in report.findings]}


def data_of(finding: Finding) -> dict[str, Any]:
    """Return one finding without its empty keys."""
    data: dict[str, Any] = {
        "code": finding.code,
        "slug": finding.slug,
        "severity": str(finding.severity),
        "message": finding.message,
    }
    if finding.loc is not None:
        data |= {"file": finding.loc.file, **finding.loc.mark._asdict()}
    extras: dict[str, Any] = {"hint": finding.hint, "source": finding.source, "origin": str(finding.origin or "")}
    extras |= {"fixable": bool(finding.fix)}
    return data | {key: value for key, value in extras.items() if value}


def titles(sources: str) -> str:
    """Replace short names by titles; drop line numbers and repeated sources. `; ` separates the sources."""
    named = (_NAMED.sub(lambda found: TITLES[found["name"]], part) for part in sources.split("; "))
    return "; ".join(dict.fromkeys(named))


def headline(finding: Finding, *, colour: bool = False) -> str:
    """Return the first line of a finding: place, severity, code and message."""
    place = f"{finding.loc.file}:{finding.loc.mark.line}:{finding.loc.mark.column}: " if finding.loc else ""
    severity = str(finding.severity)
    if colour:
        place, severity = f"{_BOLD}{place}{_RESET}", f"{_COLOURS[finding.severity]}{severity}{_RESET}"
    return f"{place}{severity} {finding.code} {finding.slug}: {finding.message}"


def alike(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Put findings with one cause together: those of one rule whose texts differ in names only, and unlocked pins.

    Deployments, services and hosts are together if the same settings of theirs have this cause.
    """
    causes: dict[object, dict[tuple[str, ...], list[Finding]]] = {}
    for each in findings:
        causes.setdefault(_cause(each), {}).setdefault(each.subject, []).append(each)
    together: dict[object, list[Finding]] = {}
    for cause, subjects in causes.items():
        for found in subjects.values():
            settings = frozenset(each.setting for each in found if not each.hint.startswith(LOCK_IT))
            together.setdefault((cause, settings), []).extend(found)
    return sorted(together.values(), key=lambda found: found[0].sort_key())


def _cause(finding: Finding) -> object:
    """Return a key that findings of one cause share; faults of the text itself have none in common."""
    file = finding.loc.file if finding.loc else ""
    if finding.hint.startswith(LOCK_IT):
        return str(finding.severity), file, LOCK_IT
    if not finding.subject:
        return finding
    named = "|".join(map(re.escape, sorted((*finding.subject, finding.setting), key=len, reverse=True)))
    texts = (re.sub(rf"(?<![\w-])(?:{named})(?![\w-])", "*", each) for each in (finding.message, finding.hint))
    return str(finding.severity), file, finding.code, *texts


def differences(found: Sequence[Finding]) -> str:
    """Return the number of findings of one cause, and the rules, names or settings that differ, or else their lines."""
    subjects = zip_longest(*(each.subject for each in found))
    settings = [each.setting for each in found if not each.hint.startswith(LOCK_IT)]
    columns = [[each.code for each in found], *subjects, settings]
    differing = [_few(names) for column in columns if len(names := dict.fromkeys(filter(None, column))) > 1]
    lines = (str(each.loc.mark.line) for each in found if each.loc)
    return f"all {len(found)}: {'; '.join(differing) or f'lines {_few(lines)}'}"


def _few(listed: Iterable[str]) -> str:
    """Return names with consecutive numbers as ranges; of many others the first ones and the last."""
    parts = ranges(sorted(listed, key=natural), "…").split(", ")
    return ", ".join(parts if len(parts) <= _LISTED else (*parts[: _LISTED - 2], f"… {parts[-1]}"))


def _finding(found: Sequence[Finding], *, colour: bool) -> Iterator[str]:
    """Return the first finding of a cause, and what the others differ in."""
    finding = found[0]
    yield headline(finding, colour=colour)
    if finding.loc and finding.loc.text.strip():
        yield from _excerpt(finding.loc)
    if len(found) > 1:
        yield f"  {differences(found)}"
        finding = finding._replace(origin=None, source="")
    yield from (f"  {each}" for each in details(finding))


def details(finding: Finding) -> Iterator[str]:
    """Return the lines below a message: the hint, the layer of the value, and the sources."""
    for label, text in (("hint", finding.hint), ("from", finding.origin), ("source", titles(finding.source))):
        if text:
            yield f"{label}: {text}"


def _excerpt(loc: Loc) -> Iterator[str]:
    """Return the line with carets under the position; a very long line is cut around it."""
    mark, text = loc.mark, loc.text.replace("\t", " ").rstrip("\r\n")
    start = max(0, mark.column - 1 - _WIDEST // 2) if len(text) > _WIDEST else 0
    cut = text[start : start + _WIDEST]
    end = mark.end_column if mark.end_line == mark.line else len(text) + 1
    before = _width(escaped_line(cut[: mark.column - 1 - start]))
    under = max(1, _width(escaped_line(cut[mark.column - 1 - start : end - 1 - start])))
    gutter = f"  {mark.line} | "
    yield f"{gutter}{escaped_line(cut)}"
    yield f"{' ' * (len(gutter) - 2)}| {' ' * before}{'^' * under}"


def _width(text: str) -> int:
    """Return the number of terminal columns: two for wide characters, none for combining ones."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )
