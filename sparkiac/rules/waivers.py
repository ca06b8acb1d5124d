"""Waivers: a finding is dropped if the inventory allows it with a reason.

A waiver applies to its deployment, service or host, or to the whole fleet. A waiver that waives nothing gives a
warning: it would hide the next real finding. One with `until` ends, for each finding by what the finding is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from sparkiac import engines
from sparkiac.catalog import interfaces
from sparkiac.plan import Container, Plan
from sparkiac.plan.values import PlannedWaiver
from sparkiac.report import REMOVE, Edit, Finding, Path, Severity
from sparkiac.resolve import Resolved
from sparkiac.rules import serverrelease
from sparkiac.rules.rule import Hit, Rule

_UNUSED: Final = ("WVR001", "unused-waiver")
_UNDECIDED: Final = ("WVR002", "undecided-waiver")
_Ending = tuple[bool | None, str]
"""Whether a waiver has ended, None if that is unknown, and why."""
_FIRST: Final = (False, None, True)
"""Whether a waiver has ended by one of several servers: the first of these decides."""
_MONTH: Final = re.compile(r"\d{4}-\d{2}(?=-|$)")


def apply(plan: Plan, resolved: Resolved, rule: Rule, hits: Iterable[tuple[Hit, Finding]]) -> Iterator[Finding]:
    """Drop the findings of `rule` that are waived. Add one for each waiver that waived nothing or may have ended."""
    allowed = [each for each in plan.waivers if each.code == rule.code]
    used, undecided = set[Path](), dict[Path, str]()
    for hit, finding in hits:
        covering = [each for each in allowed if rule.waivable and _covers(each.path[:-2], hit)]
        ends = {each.path: _ending(each, hit, plan) for each in covering}
        used.update(ends)
        undecided |= {path: why for path, (ended, why) in ends.items() if ended is None}
        if all(ended for ended, _ in ends.values()):
            told = (f"the waiver in line {_line(resolved, path)} has ended: {why}" for path, (_, why) in ends.items())
            yield finding._replace(hint="; ".join(filter(None, (finding.hint, *told))))
    for each in allowed:
        if each.path not in used:
            yield _unused(resolved, each.path, rule)
    for path, why in undecided.items():
        message = f"whether this waiver of {rule.code} has ended is unknown, and it holds: {why}"
        loc = resolved.inventory.document.at_value((*path, "until"))
        yield Finding(*_UNDECIDED, Severity.INFO, message, loc, "run `sparkiac lock`, or write another end")


def unknown(plan: Plan, resolved: Resolved, codes: Iterable[str]) -> Iterator[Finding]:
    """Return a finding for every waiver whose code no rule has."""
    known = set(codes)
    for each in sorted(plan.waivers, key=lambda each: each.code):
        if each.code not in known:
            yield _warning(resolved, each.path, f"no rule has the code {each.code}", "remove the waiver")


def _covers(scope: Path, hit: Hit) -> bool:
    return hit.path[: len(scope)] == scope or scope == ("hosts", hit.host)


def _containers(hit: Hit, plan: Plan) -> list[Container]:
    """Return the containers that a finding is about: the one that it names, or else those of its host or the fleet."""
    named = [each for _, each in plan.containers if each.path == hit.path[:2]]
    return named or [each for host, each in plan.containers if hit.host in {None, host.name}]


def _ending(waiver: PlannedWaiver, hit: Hit, plan: Plan) -> _Ending:
    """Return whether a waiver has ended: not before the last container of the finding has reached its end."""
    if waiver.release is None and waiver.image_after is None:
        return False, ""
    containers = _containers(hit, plan)
    if waiver.release is None:
        ends = [_by_image(each, str(waiver.image_after)) for each in containers]
    else:
        ends = [_by_release(each, waiver.release) for each in containers if each.server.engine is not None]
    return min(ends, key=lambda end: _FIRST.index(end[0]), default=(None, "the finding is about no server"))


def _by_release(server: Container, until: str) -> _Ending:
    engine = engines.named(server.server.engine)
    found = (server.image.vllm if engine.interfaces else serverrelease.release(server, engine)) or ""
    number = interfaces.named(found.removeprefix("b"))
    if number is None or found.startswith("b") != until.startswith("b"):
        return None, f"{server.image.short} names no release of {engine.title} to compare with {until}"
    reached = interfaces.release(number) >= interfaces.release(until.removeprefix("b"))
    return reached, f"{server.name} runs {engine.title} {found}, and it was for releases before {until}"


def _by_image(container: Container, month: str) -> _Ending:
    created = _MONTH.match(container.image.created or "")
    if created is None:
        return None, f"the lock has no creation date of {container.image.short}"
    return created[0] > month, f"{container.image.short} was built in {created[0]}, after {month}"


def _line(resolved: Resolved, path: Path) -> int:
    return resolved.inventory.document.at_value((*path, "code")).mark.line


def _unused(resolved: Resolved, path: Path, rule: Rule) -> Finding:
    message = f"{rule.code} reports nothing here" if rule.waivable else f"{rule.code} cannot be waived"
    hint = "remove the waiver" if rule.waivable else "fix the finding, and remove the waiver"
    return _warning(resolved, path, message, hint, (Edit(path, REMOVE),))


def _warning(resolved: Resolved, path: Path, message: str, hint: str, fix: tuple[Edit, ...] = ()) -> Finding:
    loc = resolved.inventory.document.at_value((*path, "code"))
    return Finding(*_UNUSED, Severity.WARNING, message, loc, hint, fix=fix)
