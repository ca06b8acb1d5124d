"""Waivers: a finding is dropped if the inventory allows it with a reason.

A waiver applies to its deployment, service or host, or to the whole fleet. A waiver that waives nothing gives a
warning: it would hide the next real finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from sparkiac.report import REMOVE, Edit, Finding, Path, Severity
from sparkiac.resolve import Resolved
from sparkiac.rules.rule import Hit, Rule

_KINDS: Final = ("hosts", "deployments", "services")


Waivers = dict[str, tuple[Path, ...]]
"""Code → the positions of its waivers, each path ending in ("allow", index)."""


def given(resolved: Resolved) -> Waivers:
    """Collect the waivers of an inventory."""
    found: Waivers = {}
    for path, code in _waivers(resolved.inventory.document.data):
        found[code] = (*found.get(code, ()), path)
    return found


def apply(
    resolved: Resolved, allowed: tuple[Path, ...], rule: Rule, hits: Iterable[tuple[Hit, Finding]]
) -> Iterator[Finding]:
    """Drop the findings of `rule` that are waived, and add a warning for each waiver that waived nothing."""
    used: set[Path] = set()
    for hit, finding in hits:
        covering = [path for path in allowed if _covers(path[:-2], hit)] if rule.waivable else []
        used.update(covering)
        if not covering:
            yield finding
    for path in allowed:
        if path not in used:
            yield _unused(resolved, path, rule)


def unknown(resolved: Resolved, found: Waivers, codes: Iterable[str]) -> Iterator[Finding]:
    """Return a finding for every waiver whose code no rule has."""
    for code in sorted(found.keys() - set(codes)):
        for path in found[code]:
            yield _warning(resolved, path, f"no rule has the code {code}", "remove the waiver")


def _covers(scope: Path, hit: Hit) -> bool:
    return hit.path[: len(scope)] == scope or scope == ("hosts", hit.host)


def _waivers(data: Any) -> Iterator[tuple[Path, str]]:  # noqa: ANN401  a document's data
    for index, waiver in enumerate(data.get("allow", ())):
        yield ("allow", index), waiver["code"]
    for index, waiver in enumerate(data.get("monitoring", {}).get("allow", ())):
        yield ("monitoring", "allow", index), waiver["code"]
    for kind in _KINDS:
        for name, entry in data.get(kind, {}).items():
            for index, waiver in enumerate(entry.get("allow", ())):
                yield (kind, name, "allow", index), waiver["code"]


def _unused(resolved: Resolved, path: Path, rule: Rule) -> Finding:
    fix = (Edit(path, REMOVE),)
    if rule.waivable:
        return _warning(resolved, path, f"{rule.code} reports nothing here", "remove the waiver", fix)
    hint = "fix the finding, and remove the waiver"
    return _warning(resolved, path, f"{rule.code} cannot be waived", hint, fix)


def _warning(resolved: Resolved, path: Path, message: str, hint: str, fix: tuple[Edit, ...] = ()) -> Finding:
    loc = resolved.inventory.document.at_value((*path, "code"))
    return Finding("WVR001", "unused-waiver", Severity.WARNING, message, loc, hint, fix=fix)
