"""Policy: what two fields, a version or a judgement say about a plan.

One rule is one module `<code>_<slug>.py` with `RULE` and `check`. Its docstring is its page, and the examples on
that page run as tests.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING, Final

from sparkiac.report import Finding, Loc, Severity
from sparkiac.rules import fixes, waivers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

    from sparkiac.plan import Plan
    from sparkiac.report import Mark, Origin
    from sparkiac.resolve import Resolved
    from sparkiac.rules.rule import Hit, Rule

_LAYER_OF_USER: Final = "inventory"


@cache
def modules() -> tuple[ModuleType, ...]:
    """Give all rule modules, in the order of their codes."""
    names = [found.name for found in pkgutil.iter_modules(__path__) if found.name[:1].isalpha() and "_" in found.name]
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in sorted(names))


def check(plan: Plan, resolved: Resolved, *, rules: Iterable[ModuleType] | None = None) -> tuple[Finding, ...]:
    """Run all rules over a plan and apply the inventory's waivers.

    A rule that raises gives an internal-error finding: what it would have said is not known.
    """
    chosen = modules() if rules is None else tuple(rules)
    given = waivers.given(resolved)
    findings: list[Finding] = [*waivers.unknown(resolved, given, (module.RULE.code for module in chosen))]
    for module in chosen:
        try:
            hits = tuple(module.check(plan))
        except Exception as error:  # noqa: BLE001  a broken rule must not pass silently
            findings.append(_broken(module.RULE, error))
        else:
            located = _located(hits, module.RULE, resolved)
            findings += waivers.apply(
                resolved, given.get(module.RULE.code, ()), module.RULE, zip(hits, located, strict=True)
            )
    return tuple(findings)


def _located(hits: Iterable[Hit], rule: Rule, resolved: Resolved) -> Iterator[Finding]:
    for hit in hits:
        loc, origin = _place(hit, resolved)
        severity = hit.severity or rule.severity
        sources, fix = "; ".join(rule.sources), fixes.offered(hit, resolved)
        yield Finding(rule.code, rule.slug, severity, hit.message, loc, hit.hint, sources, origin, fix)


def _place(hit: Hit, resolved: Resolved) -> tuple[Loc, Origin | None]:
    """Point at the user's own line; name the recipe or default where the value came from there."""
    document = resolved.inventory.document
    leaf = resolved.leaves.get(hit.leaf) if hit.leaf else None
    if leaf is None:
        return document.at_value(hit.path), None
    origin = leaf[1]
    if origin.layer == _LAYER_OF_USER and origin.mark is not None:
        return _written(hit, resolved, origin.mark), None
    return document.at_value(hit.path), origin


def _written(hit: Hit, resolved: Resolved, mark: Mark) -> Loc:
    """Point at the value that the user wrote, at its key, or inside of it."""
    document = resolved.inventory.document
    if not hit.at_key and not hit.inside:
        return document.loc(mark)
    path = next((path for path, each in document.values.items() if each == mark), hit.path)
    at = document.at_key if hit.at_key else document.at_value
    return at((*path, *hit.inside))


def _broken(rule: Rule, error: Exception) -> Finding:
    message = f"rule {rule.code} broke: {type(error).__name__}: {error}"
    hint = "this is a defect of sparkiac, not of your file; please report it"
    return Finding("INT001", "internal-error", Severity.ERROR, message, hint=hint)
