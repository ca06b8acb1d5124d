"""Waivers: a finding is dropped where the inventory allows it with a reason.

A waiver holds for its deployment, service or host, or for the whole fleet. One that waives nothing warns:
it would hide the next real finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac.report import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sparkiac.report import Path
    from sparkiac.resolve import Resolved
    from sparkiac.rules.rule import Hit, Rule

_KINDS: Final = ("hosts", "deployments", "services")


def apply(resolved: Resolved, hits: Iterable[Hit], rule: Rule, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Drop the findings of `rule` that are waived, and warn of its waivers that waived nothing."""
    allowed = [path for path, waiver in waivers(resolved) if waiver["code"] == rule.code]
    used: set[Path] = set()
    for hit, finding in zip(hits, findings, strict=True):
        covering = [path for path in allowed if _covers(path[:-2], hit)] if rule.waivable else []
        used.update(covering)
        if not covering:
            yield finding
    for path in allowed:
        if path not in used:
            yield _unused(resolved, path, rule)


def _covers(scope: Path, hit: Hit) -> bool:
    return hit.path[: len(scope)] == scope or scope == ("hosts", hit.host)


def unknown(resolved: Resolved, codes: Iterable[str]) -> Iterator[Finding]:
    """Give a finding for every waiver whose code no rule has."""
    known = set(codes)
    for path, waiver in waivers(resolved):
        if waiver["code"] not in known:
            yield _warning(resolved, path, f"no rule has the code {waiver['code']}", "remove the waiver")


def waivers(resolved: Resolved) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Give every waiver with its path, which ends in ("allow", index)."""
    data: Any = resolved.inventory.document.data
    for index, waiver in enumerate(data.get("allow", ())):
        yield ("allow", index), waiver
    for kind in _KINDS:
        for name, entry in data.get(kind, {}).items():
            for index, waiver in enumerate(entry.get("allow", ())):
                yield (kind, name, "allow", index), waiver


def _unused(resolved: Resolved, path: Path, rule: Rule) -> Finding:
    if not rule.waivable:
        return _warning(resolved, path, f"{rule.code} cannot be waived", "mend what it says, and remove the waiver")
    return _warning(resolved, path, f"nothing here is refused by {rule.code}", "remove the waiver")


def _warning(resolved: Resolved, path: Path, message: str, hint: str) -> Finding:
    loc = resolved.inventory.document.at_value((*path, "code"))
    return Finding("WVR001", "unused-waiver", Severity.WARNING, message, loc, hint)
