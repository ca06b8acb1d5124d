"""Findings about missing, stale and refused pins, at the line of the inventory that needs the pin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.hints import build_hint
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
"""Codes of missing responses, which may succeed later."""
_NO_REVISION: Final = "LCK012"
_WHY: Final = {
    "missing": "the lock does not pin it",
    "example": "the lock is an example with invented pins",
    "incomplete": "the entry in the lock is incomplete",
    "revision": "the lock pins another revision than {}",
    "commit": "the lock pins another commit than for the rest of its repository",
    "digest": "the lock has another digest",
}
"""Reason for a request → text of the finding."""


def conflicts(wants: Iterable[Want]) -> Iterator[Finding]:
    """Find images that hosts of two architectures run: the lock has one manifest per image."""
    for want in wants:
        if len(want.architectures) > 1:
            both = " and ".join(want.architectures)
            message = f"{want.name} is used on {both}, but the lock holds only one manifest per image"
            hint = "write one of them as a separate reference: with the digest of its manifest after @"
            yield _finding(_TWO_ARCHITECTURES, want, message, hint)


def stale(asks: Iterable[Ask], gone: Iterable[Gone], *, inventory: str, lock: Document | None) -> Iterator[Finding]:
    """Return a finding for each missing, incomplete or unused pin."""
    hint = _LOCK_IT.format(inventory)
    for ask in asks:
        message = f"{ask.want.kind} {ask.want.name}: {_WHY[ask.reason].format(ask.want.revision)}"
        yield _finding(_STALE, ask.want, message, hint)
    for kind, name in gone:
        loc = lock.at_key((SECTIONS[kind], name)) if lock else None
        yield Finding(*_STALE, Severity.ERROR, f"{kind} {name}: no longer used", loc, hint)


def example(lock: Document, *, inventory: str) -> Finding:
    """Return one finding for an example lock, at its line `example: true`."""
    message = "this lock is an example with invented digests, commits and hashes"
    hint = f"{_LOCK_IT.format(inventory)}: it replaces all of them"
    return Finding(*_EXAMPLE, Severity.ERROR, message, lock.at_key(("example",)), hint)


def unbuilt(plan: Plan, lock: Lock | None, *, inventory: Document) -> Iterator[Finding]:
    """Find builds without an image in the lock, or with the image of another spec."""
    for build in plan.builds:
        locked = lock.builds.get(build.name) if lock and not lock.example else None
        if locked is None or locked.spec != build.digest:
            what = (
                "the lock does not pin it"
                if locked is None
                else "the lock has an image that was built from another spec"
            )
            loc = inventory.at_value(build.path)
            yield Finding(*_STALE, Severity.ERROR, f"build {build.name}: {what}", loc, build_hint(build.name))


def outdated(
    wants: Iterable[Want], lock: Lock, captured: Mapping[str, Captured], *, inventory: str
) -> Iterator[Finding]:
    """Find captured interfaces of images that the lock has since updated. `captured` has the files by name."""
    for want in wants:
        held = {file: each for file, each in captured.items() if each.reference == want.name}
        image = lock.images.get(want.name)
        if (
            image is not None
            and held
            and not any({image.digest, image.config} & {*each.digests} for each in held.values())
        ):
            message = f"{', '.join(held)} was captured from another digest of {want.name} and is ignored"
            hint = f"capture it again: sparkiac images capture {want.name} --inventory {inventory}"
            yield _finding(_OUTDATED, want, message, hint)._replace(severity=Severity.WARNING)


def refused(want: Want, code: str, message: str, hint: str) -> Finding:
    """Return the finding for a failed request, at the revision in the inventory if there is one."""
    [slug] = [other.rule.slug for other in OTHERS if other.rule.code == code]
    found = _finding((code, slug), want, message, hint)
    return found._replace(loc=want.revision_loc, origin=None) if code == _NO_REVISION and want.revision_loc else found


def only_silence(findings: Iterable[Finding]) -> bool:
    """Return whether all findings are missing responses, which may succeed later."""
    return all(finding.code in _SILENT for finding in findings)


def _finding(code: tuple[str, str], want: Want, message: str, hint: str) -> Finding:
    users = ", ".join(want.users)
    return Finding(*code, Severity.ERROR, f"{message} (used by {users})", want.places[0], hint, origin=want.origin)
