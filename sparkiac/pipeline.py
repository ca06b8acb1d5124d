"""The order of the stages, and nothing else."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from sparkiac import catalog, rules, source
from sparkiac.model.inventory import Inventory
from sparkiac.model.lock import Lock
from sparkiac.plan import Plan, build
from sparkiac.report import Finding, Report, Severity
from sparkiac.resolve import check_names, resolve
from sparkiac.rules import profiles

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sparkiac.artifact import Artifact
    from sparkiac.source import Source

_SETTLED_BY_LOCK = frozenset({"IMG003", "IMG100", "ENT100", "FIL001"})
"""Rules that have nothing to say once the lock holds the image or the file."""


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


class Fixed(NamedTuple):
    """An inventory after its fixes: its bytes, what is left, and what is gone."""

    raw: bytes
    outcome: Outcome
    findings: tuple[Finding, ...]


def check(
    inventory: File, lock: File | None, *, allow_unlocked: bool = False, hidden: frozenset[str] | None = None
) -> Outcome:
    """Run every stage up to the rules. Bad input gives findings and no plan.

    Rules whose codes are `hidden` run as well: whether a waiver is used does not depend on what is shown.
    """
    loaded = source.load(inventory.raw, name=inventory.name, model=Inventory)
    pins = read_lock(lock) if lock else None
    faults = (*loaded.findings, *(pins.findings if pins else ()))
    if faults or loaded.value is None:
        return Outcome(Report.of((*faults, *check_names(loaded))), None)
    resolved = resolve(loaded, pins.value if pins else None)
    if resolved.findings:
        return Outcome(Report.of(resolved.findings), None)
    plan = build(resolved)
    hidden = _outside_default() if hidden is None else hidden
    findings: Iterable[Finding] = (each for each in rules.check(plan, resolved) if each.code not in hidden)
    if allow_unlocked:
        findings = [_tolerated(finding) for finding in findings]
    return Outcome(Report.of(findings), plan)


def fix(inventory: File, lock: File | None, *, hidden: frozenset[str] | None = None) -> Fixed:
    """Mend what a rule can mend in the text of an inventory. One that does not load stays as it is."""
    from sparkiac.fix import repair  # noqa: PLC0415  nothing else needs ruamel.yaml

    @cache
    def checked(raw: bytes) -> Outcome:
        return check(File(inventory.name, raw), lock, hidden=frozenset())

    def report(raw: bytes) -> Report | None:
        outcome = checked(raw)
        return None if outcome.plan is None else outcome.report

    first = checked(inventory.raw)
    if first.plan is None:
        return Fixed(inventory.raw, first, ())
    raw, left, gone = repair(inventory.raw, report, _outside_default() if hidden is None else hidden)
    return Fixed(raw, checked(raw)._replace(report=left), gone)


def read_lock(lock: File) -> Source[Lock]:
    """Read a lock by itself."""
    return source.load(lock.raw, name=lock.name, model=Lock)


def record(plan: Plan, lock: File | None, raw: bytes) -> bytes:
    """Give the lock with what a build recorded. Raises `lock.Refused` if the record is not of one of the plan's."""
    from sparkiac import lock as locks  # noqa: PLC0415  `check` and `plan` need none of it

    read = locks.read(raw, plan.builds)
    document = read_lock(lock).document if lock else None
    data = locks.with_record(document, read)
    if lock is not None and document is not None:
        text = locks.patched(lock.raw.decode(), document, data).encode()
        if read_lock(File(lock.name, text)).document.data == data:
            return text
    return locks.whole(data).encode()


def render(plan: Plan) -> tuple[Artifact, ...]:
    """Run the last pure stage."""
    from sparkiac.render import render as render_plan  # noqa: PLC0415  `check` and `plan` need no template engine

    return render_plan(plan)


def _outside_default() -> frozenset[str]:
    known = catalog.profiles()
    return profiles.outside((module.RULE for module in rules.modules()), known.floors, known.default)


def _tolerated(finding: Finding) -> Finding:
    return finding._replace(severity=Severity.WARNING) if finding.code in _SETTLED_BY_LOCK else finding
