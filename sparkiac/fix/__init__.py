"""Findings that can be fixed automatically → the inventory's text without them, with its comments.

A rule states the change (`report.Edit`). Fixes are applied one at a time and checked again: a fix that does not
remove its finding, or that adds an error, is undone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

from sparkiac.fix.edits import edited
from sparkiac.fix.nodes import CannotEdit
from sparkiac.report import Finding, Report, Severity
from sparkiac.rules.rule import Hidden

_MAX_FIXES: Final = 500
"""Maximum number of fixes in one run, so that it always ends."""

Key = tuple[str, str, object]
"""Identifies a finding in a changed text: its code, message and fix."""


class Repaired(NamedTuple):
    """A text after its fixes."""

    raw: bytes
    report: Report
    """Remaining findings, with the reason if a fix was not possible."""
    fixed: tuple[Finding, ...]
    """Removed findings, with their positions when they were fixed."""


def repair(raw: bytes, check: Callable[[bytes], Report | None], hidden: Hidden) -> Repaired:
    """Apply the fixes of all findings of a valid text, except findings with a hidden code.

    `check` returns all findings, also hidden ones, because a fix may add one; None if the text does not load.
    """
    report = check(raw) or Report()
    fixed: list[Finding] = []
    left: dict[Key, str] = {}
    broken: list[Finding] = []
    former: set[bytes] = set()
    for _ in range(_MAX_FIXES):
        chosen = next((each for each in _visible(report, hidden) if each.fix and _key(each) not in left), None)
        if chosen is None:
            break
        try:
            text = edited(raw.decode(), chosen.fix).encode()
        except CannotEdit as reason:
            left[_key(chosen)] = str(reason)
            continue
        after = check(text)
        if fault := "it reverts another fix" if text in former else _fault(chosen, report, after):
            left[_key(chosen)] = f"the fix was undone: {fault}"
            broken.append(_undone(chosen, fault))
        elif after is not None:
            fixed += [each for each in report.findings if (each.code, each.fix) == (chosen.code, chosen.fix)]
            former.add(raw)
            raw, report = text, after
    return Repaired(
        raw, Report.of((*(_with_reason(each, left) for each in _visible(report, hidden)), *broken)), tuple(fixed)
    )


def _visible(report: Report, hidden: Hidden) -> list[Finding]:
    return [finding for finding in report.findings if (finding.code, finding.severity) not in hidden]


def _key(finding: Finding) -> Key:
    return finding.code, finding.message, finding.fix


def _fault(finding: Finding, before: Report, after: Report | None) -> str:
    """Return what is wrong with a fix, or an empty text."""
    if after is None:
        return "the inventory does not load with the fix"
    old, new = (Counter(each.code for each in report.findings) for report in (before, after))
    if new[finding.code] >= old[finding.code]:
        return "the finding remains"
    old, new = (
        Counter(each.code for each in report.findings if each.severity is Severity.ERROR) for report in (before, after)
    )
    added = sorted((new - old).keys())
    return f"it adds {', '.join(added)}" if added else ""


def _with_reason(finding: Finding, left: dict[Key, str]) -> Finding:
    reason = left.get(_key(finding))
    if reason is None:
        return finding
    return finding._replace(hint="; ".join(filter(None, (finding.hint, f"not fixed by --fix: {reason}"))))


def _undone(finding: Finding, fault: str) -> Finding:
    message = f"the fix of {finding.code} was undone: {fault}"
    hint = "this is a defect of sparkiac, not of your file; please report it"
    return Finding("INT001", "internal-error", Severity.ERROR, message, finding.loc, hint)
