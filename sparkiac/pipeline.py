"""The order of the stages, and nothing else."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from sparkiac import catalog, rules, source
from sparkiac.model.inventory import Inventory
from sparkiac.model.lock import Lock
from sparkiac.plan import Plan, build
from sparkiac.report import Finding, Report, Severity
from sparkiac.resolve import check_names, resolve
from sparkiac.rules import profiles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.artifact import Artifact
    from sparkiac.catalog.interfaces import Interface
    from sparkiac.lock import Entry, Key, Move, Want
    from sparkiac.resolve import Resolved
    from sparkiac.rules.profiles import Hidden
    from sparkiac.source import Source
    from sparkiac.source.document import Document

_EXAMPLE = frozenset({"LCK033"})
_SETTLED_BY_LOCK = _EXAMPLE | {"IMG003", "IMG100", "ENT100", "FIL001", "MDL001", "IMG101"}
"""Codes that are not found once the lock holds the image, the model or the file."""


class File(NamedTuple):
    """A file as the user named it, and its bytes."""

    name: str
    raw: bytes
    interfaces: Mapping[str, Interface] = {}
    """Of an inventory: digest of an image → what its vLLM takes, as the image itself said."""


class Outcome(NamedTuple):
    """What a run found, and the plan if the input was good enough for one."""

    report: Report
    plan: Plan | None

    @property
    def only_unpinned(self) -> bool:
        """Whether the lock is all that is missing."""
        errors = [finding for finding in self.report.findings if finding.severity is Severity.ERROR]
        return bool(errors) and all(finding.code in _SETTLED_BY_LOCK for finding in errors)


class Wanted(NamedTuple):
    """What a lock must hold, and the one that there is; without a plan if the input was not good enough for one."""

    report: Report
    plan: Plan | None = None
    wants: tuple[Want, ...] = ()
    lock: Lock | None = None
    documents: tuple[Document, Document | None] | None = None
    """Inventory and lock, with the places of all that they say."""

    @property
    def data(self) -> Mapping[str, Any] | None:
        """The lock as plain data, as it is written."""
        found = self.documents[1] if self.documents else None
        return cast("dict[str, Any]", found.data) if found else None


class Locked(NamedTuple):
    """A lock that is to be written."""

    raw: bytes
    moves: tuple[Move, ...]
    """What it says otherwise than the one before."""
    report: Report
    """What it lacks still."""


class Fixed(NamedTuple):
    """An inventory after its fixes: its bytes, what is left, and what is gone."""

    raw: bytes
    outcome: Outcome
    findings: tuple[Finding, ...]


def check(
    inventory: File,
    lock: File | None,
    *,
    allow_example: bool = False,
    allow_unlocked: bool = False,
    hidden: Hidden | None = None,
) -> Outcome:
    """Run every stage up to the rules. Bad input gives findings and no plan.

    `allow_example` makes a warning of an example lock, `allow_unlocked` of missing pins as well. What is `hidden` is
    checked as well: whether a waiver is used does not depend on what is shown.
    """
    report, found = resolved(inventory, lock)
    if found is None:
        return Outcome(report, None)
    plan = build(found)
    hidden = _outside_default() if hidden is None else hidden
    findings = [each for each in rules.check(plan, found) if (each.code, each.severity) not in hidden]
    if lock is not None and found.lock is not None and found.lock.example:
        findings.append(_example(inventory, lock))
    tolerated = _SETTLED_BY_LOCK if allow_unlocked else _EXAMPLE if allow_example else frozenset()
    return Outcome(Report.of(_noted(each) if each.code in tolerated else each for each in findings), plan)


def resolved(inventory: File, lock: File | None) -> tuple[Report, Resolved | None]:
    """Read and resolve an inventory; without a result if the input was not good enough for one."""
    loaded = source.load(inventory.raw, name=inventory.name, model=Inventory)
    pins = read_lock(lock) if lock else None
    faults = (*loaded.findings, *(pins.findings if pins else ()))
    if faults or loaded.value is None:
        return Report.of((*faults, *check_names(loaded))), None
    findings, found = resolve(loaded, pins.value if pins else None, inventory.interfaces)
    return Report.of(findings), found


def fix(inventory: File, lock: File | None, *, allow_unlocked: bool = False, hidden: Hidden | None = None) -> Fixed:
    """Mend what a rule can mend in the text of an inventory. One that does not load stays as it is."""
    from sparkiac.fix import repair  # noqa: PLC0415  nothing else needs ruamel.yaml

    @cache
    def checked(raw: bytes) -> Outcome:
        return check(inventory._replace(raw=raw), lock, allow_unlocked=allow_unlocked, hidden=frozenset())

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
    return lock_text(lock, locks.with_record(read_lock(lock).document if lock else None, read))


def wants(inventory: File, lock: File | None) -> Wanted:
    """Say what the lock of an inventory must hold. The rules are not asked: they say what is wrong with it later."""
    from sparkiac import lock as locks  # noqa: PLC0415  `check` and `plan` need none of it

    report, found = resolved(inventory, lock)
    if found is None:
        return Wanted(report)
    plan = build(found)
    needed = locks.wanted(plan, found)
    documents = found.inventory.document, read_lock(lock).document if lock else None
    return Wanted(Report.of(locks.conflicts(needed)), plan, needed, found.lock, documents)


def stale(wanted: Wanted) -> Report:
    """Say what of a lock is missing, incomplete, or wanted by nothing. Asks nobody."""
    from sparkiac import lock as locks  # noqa: PLC0415  `check` and `plan` need none of it

    assert wanted.plan is not None and wanted.documents is not None, "the input is good"  # noqa: S101, PT018
    inventory, pins = wanted.documents
    asks, gone = locks.asks(wanted.lock, wanted.wants), locks.gone(wanted.lock, wanted.wants)
    found = locks.stale(asks, gone, inventory=inventory.name, lock=pins)
    unbuilt = locks.unbuilt(wanted.plan, wanted.lock, inventory=inventory)
    return Report.of((*wanted.report.findings, *found, *unbuilt))


def locked(inventory: File, lock: File | None, wanted: Wanted, answers: Mapping[Key, Entry]) -> Locked:
    """Give the lock with what upstream answered. What is still missing then are builds, which a record brings."""
    from sparkiac import lock as locks  # noqa: PLC0415  `check` and `plan` need none of it

    data = locks.merged(wanted.data, wanted.wants, answers)
    new = File(lock.name if lock else "", lock_text(lock, data))
    left = stale(wants(inventory, new)).findings
    return Locked(new.raw, locks.moves(wanted.data, data), Report.of(map(_noted, left)))


def lock_text(lock: File | None, data: Mapping[str, Any]) -> bytes:
    """Write a lock that says `data`. What an older lock says already keeps its lines, where its layout allows it."""
    from sparkiac import lock as locks  # noqa: PLC0415  `check` and `plan` need none of it

    document = read_lock(lock).document if lock else None
    if lock is not None and document is not None:
        if document.data == data:
            return lock.raw
        text = locks.patched(lock.raw.decode(), document, data).encode()
        if read_lock(File(lock.name, text)).document.data == data:
            return text
    return locks.whole(data).encode()


def render(plan: Plan) -> tuple[Artifact, ...]:
    """Run the last pure stage."""
    from sparkiac.render import render as render_plan  # noqa: PLC0415  `check` and `plan` need no template engine

    return render_plan(plan)


def _outside_default() -> Hidden:
    known = catalog.profiles()
    return profiles.outside((check.rule for check in rules.checks()), known.floors, known.default)


def _example(inventory: File, lock: File) -> Finding:
    from sparkiac import lock as locks  # noqa: PLC0415  only an example needs it

    return locks.example(read_lock(lock).document, inventory=inventory.name)


def _noted(finding: Finding) -> Finding:
    return finding._replace(severity=Severity.WARNING)
