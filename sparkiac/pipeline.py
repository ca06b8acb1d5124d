"""Run the stages in order: source, resolve, plan, rules, render, and the steps that update a lock or fix findings."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from sparkiac import catalog, rules, source
from sparkiac.catalog import library
from sparkiac.model.inventory import Inventory
from sparkiac.model.lock import Lock
from sparkiac.plan import Plan, build
from sparkiac.report import Finding, Report, Severity
from sparkiac.resolve import check_names, fabric, resolve, sources
from sparkiac.rules.rule import hidden

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.catalog.interfaces import Interface
    from sparkiac.catalog.library import RecipeText
    from sparkiac.lock.comparison import PinChange
    from sparkiac.lock.merge import Key, LockEntry
    from sparkiac.lock.required import RequiredPin
    from sparkiac.model.records import LinkRecord, StartRecord
    from sparkiac.render.kubernetes import Rendering
    from sparkiac.report.artifact import Artifact
    from sparkiac.resolve import Resolved
    from sparkiac.rules.rule import Hidden
    from sparkiac.source import Source
    from sparkiac.source.document import Document

_EXAMPLE: Final = sources.EXAMPLE[0]
_SETTLED_BY_LOCK: Final = frozenset({_EXAMPLE, "IMG003", "IMG100", "ENT100", "FIL001", "MDL001", "IMG101"})
"""Codes of findings that a complete lock resolves."""


class InputFile(NamedTuple):
    """Name and content of an input file; the name is the path that the user entered."""

    name: str
    raw: bytes
    interfaces: Mapping[str, Interface] = {}
    """For an inventory: digest of an image → vLLM options that were captured from that image."""
    records: tuple[StartRecord, ...] = ()
    """Recorded starts in the inventory's folder `measurements`; other files have none."""
    links: LinkRecord | None = None
    """Measured speeds of the inventory's links; other files have none."""
    recipes: tuple[RecipeText, ...] = ()
    """Recipes in the repository of the inventory; other files have none."""
    fetched: Mapping[str, tuple[RecipeText, ...]] = {}
    """Recipes fetched from the inventory's sources, by name of the source; other files have none."""


class Outcome(NamedTuple):
    """Result of a check: the findings, and the plan if the input was valid."""

    report: Report
    plan: Plan | None

    @property
    def only_unpinned(self) -> bool:
        """Return whether there are errors and a complete lock would resolve all of them."""
        errors = [finding for finding in self.report.findings if finding.severity is Severity.ERROR]
        return bool(errors) and all(finding.code in _SETTLED_BY_LOCK for finding in errors)


class LockState(NamedTuple):
    """The pins that an inventory requires and its lock; without a plan if the input has errors."""

    report: Report
    plan: Plan | None = None
    pins: tuple[RequiredPin, ...] = ()
    lock: Lock | None = None
    documents: tuple[Document, Document | None] | None = None
    """Inventory and lock with the positions of their values."""

    @property
    def data(self) -> Mapping[str, Any] | None:
        """The lock as plain data."""
        found = self.documents[1] if self.documents else None
        return cast("dict[str, Any]", found.data) if found else None


class Locked(NamedTuple):
    """A lock to be written."""

    raw: bytes
    changes: tuple[PinChange, ...]
    """Differences from the former lock."""
    report: Report
    """Pins that are still missing."""
    plan: Plan
    """The plan with these pins."""


class FixResult(NamedTuple):
    """An inventory after its fixes: the new text, the check of that text, and the findings that were fixed."""

    raw: bytes
    outcome: Outcome
    findings: tuple[Finding, ...]


def check(
    inventory: InputFile,
    lock: InputFile | None,
    *,
    allow_example: bool = False,
    allow_unlocked: bool = False,
    hidden: Hidden | None = None,
) -> Outcome:
    """Run every stage up to the rules. Invalid input gives findings and no plan.

    `allow_example` reports an example lock as a warning instead of an error; `allow_unlocked` does the same for missing
    pins. Findings that are `hidden` are checked too, because whether a waiver is used must not depend on the profile.
    """
    report, found = resolve_inventory(inventory, lock)
    hidden = _outside_default() if hidden is None else hidden
    if found is None:
        more = [each for each in _despite_faults(report, inventory, lock) if (each.code, each.severity) not in hidden]
        return Outcome(Report.of((*report.findings, *more)), None)
    plan = build(found)
    findings = [each for each in rules.check(plan, found) if (each.code, each.severity) not in hidden]
    findings += fabric.slower_links(found.inventory.document, inventory.links)
    if lock is not None and found.lock is not None and (found.lock.example or any(found.lock.contradictions())):
        findings += sources.check_lock(read_lock(lock), inventory.name)
    tolerated = _SETTLED_BY_LOCK if allow_unlocked else frozenset({_EXAMPLE}) if allow_example else frozenset()
    judged = (each._replace(severity=Severity.WARNING) if each.code in tolerated else each for each in findings)
    return Outcome(Report.of(judged), plan)


def planned(inventory: InputFile) -> tuple[Resolved, Plan] | None:
    """Resolve and plan an inventory without its lock and its rules; None if it has faults."""
    _, found = resolve_inventory(inventory, None)
    return found and (found, build(found))


def _despite_faults(report: Report, inventory: InputFile, lock: InputFile | None) -> Iterator[Finding]:
    """Return the errors of later stages that no lock can settle, in parts of the inventory that have no fault."""
    faults = [each for each in report.findings if lock is None or each.loc is None or each.loc.file != lock.name]
    found = _despite_entries(faults, inventory, lock) if faults else check(inventory, None).report.findings
    for each in found:
        if each.severity is Severity.ERROR and each.code not in _SETTLED_BY_LOCK:
            yield each


def _despite_entries(faults: list[Finding], inventory: InputFile, lock: InputFile | None) -> Iterator[Finding]:
    """Return the errors in the entries of an inventory that have no fault."""
    from sparkiac.source import remainder  # noqa: PLC0415  only a faulty inventory needs it

    loaded, pins = read_inventory(inventory), read_lock(lock).value if lock else None
    shelf, _ = library.read(recipe_files(inventory, loaded.document))
    known = {**shelf.interfaces, **inventory.interfaces}

    def judge(left: Source[Inventory]) -> remainder.Judgement:
        names = check_names(left, shelf)
        findings, found = ((), None) if names else resolve(left, pins, known, library=shelf)
        findings = rules.check(build(found), found) if found else findings
        return remainder.Judgement(names, findings, complete=found is not None)

    return remainder.errors(loaded.document, faults, Inventory, judge)


def resolve_inventory(inventory: InputFile, lock: InputFile | None) -> tuple[Report, Resolved | None]:
    """Read and resolve an inventory; return None instead of a result if the input is not valid."""
    loaded = read_inventory(inventory)
    pins = read_lock(lock) if lock else None
    shelf, unfit = library.read(recipe_files(inventory, loaded.document))
    faults = (*loaded.findings, *(pins.findings if pins else ()), *unfit)
    if faults or loaded.value is None:
        other = _foreign(inventory, loaded.document) if loaded.value is None else None
        return Report.of((other,) if other else (*faults, *check_names(loaded, shelf))), None
    if unpinned := tuple(sources.check(loaded, pins.value if pins else None, inventory.fetched)):
        return Report.of(unpinned), None
    interfaces = {**shelf.interfaces, **inventory.interfaces}  # what was captured here comes before what others did
    findings, result = resolve(loaded, pins.value if pins else None, interfaces, library=shelf)
    return Report.of(findings), result._replace(records=inventory.records) if result else None


def recipe_files(inventory: InputFile, document: Document) -> tuple[RecipeText, ...]:
    """Return the files of all recipes that an inventory can use: those of its repository and of its sources."""
    of_sources = (file for name in sources.names(document) for file in inventory.fetched.get(name, ()))
    return (*inventory.recipes, *of_sources)


def _foreign(inventory: InputFile, document: Document) -> Finding | None:
    from sparkiac import foreign  # noqa: PLC0415  only for a file that is not an inventory

    return foreign.mistaken(inventory.name, inventory.raw, document)


def fix(
    inventory: InputFile, lock: InputFile | None, *, allow_unlocked: bool = False, hidden: Hidden | None = None
) -> FixResult:
    """Apply the fixes of findings to the text of an inventory. An inventory that does not load stays unchanged."""
    from sparkiac.fix import repair  # noqa: PLC0415  only --fix needs it

    @cache
    def checked(raw: bytes) -> Outcome:
        return check(inventory._replace(raw=raw), lock, allow_unlocked=allow_unlocked, hidden=frozenset())

    def report(raw: bytes) -> Report | None:
        return checked(raw).report if checked(raw).plan else None

    first = checked(inventory.raw)
    if first.plan is None:
        return FixResult(inventory.raw, first, ())
    raw, left, gone = repair(inventory.raw, report, _outside_default() if hidden is None else hidden)
    return FixResult(raw, checked(raw)._replace(report=left), gone)


def read_inventory(inventory: InputFile) -> Source[Inventory]:
    """Read and validate an inventory without resolving it, for a command that fills in what it lacks."""
    return source.load(inventory.raw, name=inventory.name, model=Inventory)


def read_lock(lock: InputFile) -> Source[Lock]:
    """Read and validate a lock file."""
    return source.load(lock.raw, name=lock.name, model=Lock)


def record(plan: Plan, lock: InputFile | None, raw: bytes) -> bytes:
    """Return the lock with the record of a build. Raises `RecordError` if the plan has no such build."""
    from sparkiac.lock import merge  # noqa: PLC0415  `check` and `plan` need none of it

    read = merge.read_record(raw, plan.builds)
    return lock_text(lock, merge.with_record(read_lock(lock).document if lock else None, read))


def lock_state(inventory: InputFile, lock: InputFile | None) -> LockState:
    """Return the pins that an inventory requires and its lock. No rules run: `check` reports their findings."""
    from sparkiac.lock import findings, required  # noqa: PLC0415  `check` and `plan` need none of it

    report, found = resolve_inventory(inventory, lock)
    if found is None:
        return LockState(report)
    plan = build(found)
    pins = required.required(plan, found)
    documents = found.inventory.document, read_lock(lock).document if lock else None
    return LockState(Report.of(findings.conflicts(pins)), plan, pins, found.lock, documents)


def stale(state: LockState) -> Report:
    """Report pins that are missing, incomplete or unused. Sends no request."""
    from sparkiac.lock import findings, merge  # noqa: PLC0415  `check` and `plan` need none of it

    assert state.plan is not None and state.documents is not None, "the input is good"  # noqa: S101, PT018
    inventory, lock = state.documents
    requests, unused = merge.requests(state.lock, state.pins), merge.unused(state.lock, state.pins)
    found = findings.stale(requests, unused, inventory=inventory.name, lock=lock)
    return Report.of((*state.report.findings, *found, *findings.unbuilt(state.plan, state.lock, inventory=inventory)))


def locked(
    inventory: InputFile, lock: InputFile | None, state: LockState, responses: Mapping[Key, LockEntry]
) -> Locked:
    """Return the lock with the responses from upstream. Only builds can be missing then; their records add them."""
    from sparkiac.lock import comparison, merge  # noqa: PLC0415  `check` and `plan` need none of it

    data = merge.merged(state.data, state.pins, responses)
    new = InputFile(lock.name if lock else "", lock_text(lock, data))
    after = lock_state(inventory, new)
    assert after.plan is not None, "only the lock has changed"  # noqa: S101
    left = (each._replace(severity=Severity.WARNING) for each in stale(after).findings)
    return Locked(new.raw, comparison.changes(state.data, data), Report.of(left), after.plan)


def lock_text(lock: InputFile | None, data: Mapping[str, Any]) -> bytes:
    """Return a lock with `data`. Unchanged entries of the former lock keep their lines if its layout allows it."""
    from sparkiac.lock.text import patched, whole  # noqa: PLC0415  `check` and `plan` need none of it

    if lock is not None:
        document = read_lock(lock).document
        if document.data == data:
            return lock.raw
        text = patched(lock.raw.decode(), document, data).encode()
        if read_lock(InputFile(lock.name, text)).document.data == data:
            return text
    return whole(data).encode()


def render(plan: Plan) -> tuple[Artifact, ...]:
    """Render the generated files of a plan."""
    from sparkiac.render import render as render_plan  # noqa: PLC0415  `check` and `plan` need no template engine

    return render_plan(plan)


def render_kubernetes(plan: Plan) -> Rendering:
    """Render the objects for Kubernetes. Raises KubernetesError."""
    from sparkiac.render import kubernetes  # noqa: PLC0415  only `generate --target kubernetes` needs it

    return kubernetes.render(plan)


def _outside_default() -> Hidden:
    known = catalog.profiles()
    return hidden((check.rule for check in rules.checks()), known.floors, known.default)
