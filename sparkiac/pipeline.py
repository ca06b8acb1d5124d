"""The order of the stages, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sparkiac import rules, source
from sparkiac.model.inventory import Inventory
from sparkiac.model.lock import Lock
from sparkiac.plan import Plan, build
from sparkiac.report import Finding, Report, Severity
from sparkiac.resolve import check_names, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sparkiac.artifact import Artifact

_SETTLED_BY_LOCK = frozenset({"IMG003", "ENT100"})
"""Rules that have nothing to say once the lock holds the image."""


class File(NamedTuple):
    """A file as the user named it, and its bytes."""

    name: str
    raw: bytes


class Outcome(NamedTuple):
    """What a run found, and the plan if the input was good enough for one."""

    report: Report
    plan: Plan | None

    @property
    def only_unpinned(self) -> bool:
        """Whether the lock is all that is missing."""
        errors = [finding for finding in self.report.findings if finding.severity is Severity.ERROR]
        return bool(errors) and all(finding.code in _SETTLED_BY_LOCK for finding in errors)


def check(inventory: File, lock: File | None, *, allow_unlocked: bool = False) -> Outcome:
    """Run every stage up to the rules. Bad input gives findings and no plan."""
    loaded = source.load(inventory.raw, name=inventory.name, model=Inventory)
    pins = source.load(lock.raw, name=lock.name, model=Lock) if lock else None
    faults = (*loaded.findings, *(pins.findings if pins else ()))
    if faults or loaded.value is None:
        return Outcome(Report.of((*faults, *check_names(loaded))), None)
    resolved = resolve(loaded, pins.value if pins else None)
    if resolved.findings:
        return Outcome(Report.of(resolved.findings), None)
    plan = build(resolved)
    findings: Iterable[Finding] = rules.check(plan, resolved)
    if allow_unlocked:
        findings = [_tolerated(finding) for finding in findings]
    return Outcome(Report.of(findings), plan)


def render(plan: Plan) -> tuple[Artifact, ...]:
    """Run the last pure stage."""
    from sparkiac.render import render as render_plan  # noqa: PLC0415  `check` and `plan` need no template engine

    return render_plan(plan)


def _tolerated(finding: Finding) -> Finding:
    return finding._replace(severity=Severity.WARNING) if finding.code in _SETTLED_BY_LOCK else finding
