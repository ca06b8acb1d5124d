"""Findings about missing, stale and refused pins, at the line of the inventory that needs the pin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from sparkiac.catalog.evidence import code_pages
from sparkiac.catalog.interfaces import Captured
from sparkiac.lock.comparison import PinDifference
from sparkiac.lock.merge import SECTIONS, PinRequest, UnusedPin
from sparkiac.lock.required import RequiredPin
from sparkiac.model.lock import Lock
from sparkiac.plan import Plan
from sparkiac.report import Finding, Severity
from sparkiac.report.hints import build_hint
from sparkiac.source.document import Document

_TWO_ARCHITECTURES: Final = ("LCK030", "two-architectures")
_STALE: Final = ("LCK031", "stale-lock")
_DIFFERENT: Final = ("LCK034", "pin-differs")
_OUTDATED: Final = ("LCK032", "stale-interface")
_LOCK_IT: Final = "run `sparkiac lock {}`"
_NO_RESPONSE: Final = frozenset({"LCK004", "LCK013", "LCK017", "LCK021"})
"""Codes of failed requests that may succeed later."""
_NO_REVISION: Final = "LCK012"
_IDENTITIES: Final = (("sha256",), ("commit",))
"""Values that differ because the content was replaced."""
_REASONS: Final = {
    "missing": "the lock does not pin it",
    "example": "the lock is an example with invented pins",
    "incomplete": "the entry in the lock is incomplete",
    "revision": "the lock pins another revision than {}",
    "commit": "the lock pins another commit than for the rest of its repository",
    "digest": "the lock has another digest",
}
"""Reason for a request → text of the finding."""


def conflicts(pins: Iterable[RequiredPin]) -> Iterator[Finding]:
    """Find images that hosts of two architectures run: the lock has one manifest per image."""
    for pin in pins:
        if len(pin.architectures) > 1:
            both = " and ".join(pin.architectures)
            message = f"{pin.name} is used on {both}, but the lock holds only one manifest per image"
            hint = "write one of them as a separate reference: with the digest of its manifest after @"
            yield _finding(_TWO_ARCHITECTURES, pin, message, hint)


def stale(
    requests: Iterable[PinRequest], unused: Iterable[UnusedPin], *, inventory: str, lock: Document | None
) -> Iterator[Finding]:
    """Return a finding for each missing, incomplete or unused pin."""
    hint, read_it = _LOCK_IT.format(inventory), _LOCK_IT.format(f"{inventory} --hosts")
    for request in requests:
        message = f"{request.pin.kind} {request.pin.name}: {_REASONS[request.reason].format(request.pin.revision)}"
        yield _finding(_STALE, request.pin, message, read_it if request.pin.own else hint)
    for kind, name in unused:
        loc = lock.at_key((SECTIONS[kind], name)) if lock else None
        yield Finding(*_STALE, Severity.ERROR, f"{kind} {name}: no longer used", loc, hint)


def unbuilt(plan: Plan, lock: Lock | None, *, inventory: Document) -> Iterator[Finding]:
    """Find builds without an image in the lock, or with the image of another spec."""
    for build in plan.builds:
        locked = lock.builds.get(build.name) if lock and not lock.example else None
        if locked is None or locked.spec != build.digest:
            other = "the lock has an image that was built from another spec"
            message = f"build {build.name}: {_REASONS['missing'] if locked is None else other}"
            yield Finding(*_STALE, Severity.ERROR, message, inventory.at_value(build.path), build_hint(build.name))


def outdated(
    pins: Iterable[RequiredPin], lock: Lock, captured: Mapping[str, Captured], *, inventory: str
) -> Iterator[Finding]:
    """Find captured interfaces of images that the lock has since updated. `captured` has the files by name."""
    for pin in pins:
        files = {file: each for file, each in captured.items() if each.reference == pin.name}
        image = lock.images.get(pin.name)
        known = {digest for each in files.values() for digest in each.digests}
        if image is not None and files and not known & {image.digest, image.config}:
            message = f"{', '.join(files)} was captured from another digest of {pin.name} and is ignored"
            hint = f"capture it again: sparkiac images capture {pin.name} --inventory {inventory}"
            yield _finding(_OUTDATED, pin, message, hint)._replace(severity=Severity.WARNING)


def different(found: Iterable[PinDifference], *, inventory: str, lock: Document) -> Iterator[Finding]:
    """Return a finding for each value of the lock that its server does not confirm, with both values."""
    for each in found:
        pin, what = each.pin, ".".join(each.path)
        here, there = map(_shown, (each.locked, each.upstream))
        kept = {None: "", True: ", where the pinned one still exists", False: ", where the pinned one is missing"}
        message = f"{pin.kind} {pin.name}: {what} is {here} in the lock, but {there} upstream{kept[each.kept]}"
        if each.kept is None and each.path not in _IDENTITIES:
            hint = f"restore the entry, or remove it and {_LOCK_IT.format(inventory)}"
        else:
            hint = f"to pin the current version, {_LOCK_IT.format(f'{inventory} --upgrade {pin.name}')}"
        loc = lock.at_value((SECTIONS[pin.kind], pin.name, *each.path))
        yield Finding(*_DIFFERENT, Severity.ERROR, message, loc, hint)


def _shown(value: object) -> str:
    if value is None:
        return "missing"
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def refused(pin: RequiredPin, code: str, message: str, hint: str) -> Finding:
    """Return the finding for a failed request, at the revision in the inventory if there is one."""
    [slug] = [page.name.partition("_")[2] for page in code_pages() if page.name.startswith(code.lower())]
    found = _finding((code, slug), pin, message, hint)
    return found._replace(loc=pin.revision_loc, origin=None) if code == _NO_REVISION and pin.revision_loc else found


def only_missing_responses(findings: Iterable[Finding]) -> bool:
    """Return whether all findings are failed requests that may succeed later."""
    return all(finding.code in _NO_RESPONSE for finding in findings)


def _finding(code: tuple[str, str], pin: RequiredPin, message: str, hint: str) -> Finding:
    users = ", ".join(pin.users)
    return Finding(*code, Severity.ERROR, f"{message} (used by {users})", pin.locations[0], hint, origin=pin.origin)
