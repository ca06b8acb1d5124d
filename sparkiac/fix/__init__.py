"""Findings whose repair is mechanical → the text of the inventory without them, comments kept.

A rule says what to change (`report.Edit`); here it is done, one fix at a time, and looked at again. A fix that does not
take its finding away or that brings a new error is undone.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.fix.edits import edited
from sparkiac.fix.nodes import Refused
from sparkiac.report import Finding, Report, Severity

if TYPE_CHECKING:
    from collections.abc import Callable

    from sparkiac.rules.profiles import Hidden

_MOST: Final = 500
"""Fixes of one run: more are not needed, and the run has an end whatever rules say."""

Key = tuple[str, str, object]
"""What a finding is known by in a changed text: its code, message and fix."""


class Repaired(NamedTuple):
    """A text after its fixes."""

    raw: bytes
    report: Report
    """What is left, with the reason where a fix was not possible."""
    fixed: tuple[Finding, ...]
    """What is gone, with its place in the text at that time."""


def repair(raw: bytes, check: Callable[[bytes], Report | None], hidden: Hidden) -> Repaired:
    """Apply the fixes of all findings of a text that loads, but for those that are hidden.

    `check` gives all findings, hidden ones as well, for a fix may bring one; None if the text does not load.
    """
    report = check(raw) or Report()
    fixed: list[Finding] = []
    left: dict[Key, str] = {}
    broken: list[Finding] = []
    former: set[bytes] = set()
    for _ in range(_MOST):
        chosen = next((each for each in _shown(report, hidden) if each.fix and _key(each) not in left), None)
        if chosen is None:
            break
        try:
            text = edited(raw.decode(), chosen.fix).encode()
        except Refused as reason:
            left[_key(chosen)] = str(reason)
            continue
        after = check(text)
        if fault := "it undoes another fix" if text in former else _fault(chosen, report, after):
            left[_key(chosen)] = f"the fix was undone, for {fault}"
            broken.append(_undone(chosen, fault))
        elif after is not None:
            fixed += [each for each in report.findings if (each.code, each.fix) == (chosen.code, chosen.fix)]
            former.add(raw)
            raw, report = text, after
    return Repaired(raw, Report.of((*(_noted(each, left) for each in _shown(report, hidden)), *broken)), tuple(fixed))


def _shown(report: Report, hidden: Hidden) -> list[Finding]:
    return [finding for finding in report.findings if (finding.code, finding.severity) not in hidden]


def _key(finding: Finding) -> Key:
    return finding.code, finding.message, finding.fix


def _fault(finding: Finding, before: Report, after: Report | None) -> str:
    """Say what is wrong with a fix; nothing for a good one."""
    if after is None:
        return "the inventory does not load with it"
    old, new = (Counter(each.code for each in report.findings) for report in (before, after))
    if new[finding.code] >= old[finding.code]:
        return "the finding is still there with it"
    old, new = (Counter(each.code for each in _errors(report)) for report in (before, after))
    added = sorted((new - old).keys())
    return f"it brings {', '.join(added)}" if added else ""


def _errors(report: Report) -> list[Finding]:
    return [finding for finding in report.findings if finding.severity is Severity.ERROR]


def _noted(finding: Finding, left: dict[Key, str]) -> Finding:
    reason = left.get(_key(finding))
    if reason is None:
        return finding
    return finding._replace(hint="; ".join(filter(None, (finding.hint, f"--fix leaves it to you: {reason}"))))


def _undone(finding: Finding, fault: str) -> Finding:
    message = f"the fix of {finding.code} was undone: {fault}"
    hint = "this is a defect of sparkiac, not of your file; please report it"
    return Finding("INT001", "internal-error", Severity.ERROR, message, finding.loc, hint)
