"""What is wrong between an inventory and its lock, or upstream of both: findings at the place that wants the thing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.hints import build_it
from sparkiac.lock.merge import SECTIONS
from sparkiac.report import Finding, Severity
from sparkiac.rules.others.lck import OTHERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sparkiac.catalog.interfaces import Captured
    from sparkiac.lock.merge import Ask, Gone
    from sparkiac.lock.wanted import Want
    from sparkiac.model.lock import Lock
    from sparkiac.plan import Plan
    from sparkiac.source.document import Document

_TWO_ARCHITECTURES: Final = ("LCK030", "two-architectures")
_STALE: Final = ("LCK031", "stale-lock")
_EXAMPLE: Final = ("LCK033", "example-lock")
_OUTDATED: Final = ("LCK032", "stale-interface")
_LOCK_IT: Final = "run `sparkiac lock {}`"
_SILENT: Final = frozenset({"LCK004", "LCK013", "LCK021"})
"""Codes of what may come by itself: nobody answered."""
_NO_REVISION: Final = "LCK012"
_WHY: Final = {
    "missing": "the lock does not have it",
    "example": "the lock is an example, whose pins name nothing real",
    "incomplete": "the lock does not say all that is to be known of it",
    "revision": "the lock has it of another revision than {}",
    "commit": "the lock has it of another commit than the rest of its repository",
    "digest": "the lock has it with another digest",
}
"""Reason to ask → how a person says it."""


def conflicts(wants: Iterable[Want]) -> Iterator[Finding]:
    """Find images that hosts of two architectures want: the lock has one manifest of each."""
    for want in wants:
        if len(want.architectures) > 1:
            both = " and ".join(want.architectures)
            message = f"{want.name} is wanted for {both}, and the lock holds one manifest of each image"
            hint = "give one of them a reference of its own: the digest of its manifest after @"
            yield _finding(_TWO_ARCHITECTURES, want, message, hint)


def stale(asks: Iterable[Ask], gone: Iterable[Gone], *, inventory: str, lock: Document | None) -> Iterator[Finding]:
    """Say what `sparkiac lock` would change: pins that are missing or incomplete, and those that nothing wants."""
    hint = _LOCK_IT.format(inventory)
    for ask in asks:
        message = f"{ask.want.kind} {ask.want.name}: {_WHY[ask.reason].format(ask.want.revision)}"
        yield _finding(_STALE, ask.want, message, hint)
    for kind, name in gone:
        loc = lock.at_key((SECTIONS[kind], name)) if lock else None
        yield Finding(*_STALE, Severity.ERROR, f"{kind} {name}: nothing wants it any more", loc, hint)


def example(lock: Document, *, inventory: str) -> Finding:
    """Say that a lock is an example: one finding for all of its pins, at the line that says so."""
    message = "this lock is an example: its digests, commits and hashes are made up"
    hint = f"{_LOCK_IT.format(inventory)}: it replaces all of them"
    return Finding(*_EXAMPLE, Severity.ERROR, message, lock.at_key(("example",)), hint)


def unbuilt(plan: Plan, lock: Lock | None, *, inventory: Document) -> Iterator[Finding]:
    """Find builds of which the lock has no image, or that of another spec."""
    for build in plan.builds:
        locked = lock.builds.get(build.name) if lock and not lock.example else None
        if locked is None or locked.spec != build.digest:
            what = "the lock does not have it" if locked is None else "the lock has what was built from something else"
            loc = inventory.at_value(build.path)
            yield Finding(*_STALE, Severity.ERROR, f"build {build.name}: {what}", loc, build_it(build.name))


def outdated(
    wants: Iterable[Want], lock: Lock, captured: Mapping[str, Captured], *, inventory: str
) -> Iterator[Finding]:
    """Find images that said what their vLLM takes before the lock moved them. `captured` has the files by name."""
    for want in wants:
        held = {file: each for file, each in captured.items() if each.reference == want.name}
        image = lock.images.get(want.name)
        if (
            image is not None
            and held
            and not any({image.digest, image.config} & {*each.digests} for each in held.values())
        ):
            message = f"{', '.join(held)} holds what {want.name} said with another digest, and is not used"
            hint = f"ask it anew: sparkiac images capture {want.name} --inventory {inventory}"
            yield _finding(_OUTDATED, want, message, hint)._replace(severity=Severity.WARNING)


def refused(want: Want, code: str, message: str, hint: str) -> Finding:
    """Say why something could not be had; `code` is that of a page. A revision has its own place in the inventory."""
    [slug] = [other.rule.slug for other in OTHERS if other.rule.code == code]
    found = _finding((code, slug), want, message, hint)
    return found._replace(loc=want.revision_loc, origin=None) if code == _NO_REVISION and want.revision_loc else found


def only_silence(findings: Iterable[Finding]) -> bool:
    """Whether nothing was refused: upstream only did not answer, and may answer later."""
    return all(finding.code in _SILENT for finding in findings)


def _finding(code: tuple[str, str], want: Want, message: str, hint: str) -> Finding:
    users = ", ".join(want.users)
    return Finding(*code, Severity.ERROR, f"{message} (wanted by {users})", want.places[0], hint, origin=want.origin)
