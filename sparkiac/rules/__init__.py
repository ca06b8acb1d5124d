"""Rules: checks of a plan that need more than one field, such as a release, the image or the memory of a host.

What is known about a combination of model, image, release and options is a fact of the catalog, evaluated by
`evaluator`. A rule that needs logic of its own is a module `<code>_<slug>.py` with `RULE` and `check`. Either way, one
rule is one file, its page is in that file, and the examples on the page run as tests.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cache, cached_property, partial
from types import ModuleType
from typing import Final, NamedTuple

from sparkiac.catalog.evidence import Fact, FactSheet, sheets
from sparkiac.catalog.library import Library
from sparkiac.plan import Plan
from sparkiac.report import REMOVE, Edit, Finding, Loc, Mark, Origin, Path, Severity
from sparkiac.report.hints import OPEN_POINT
from sparkiac.report.placeholders import is_placeholder
from sparkiac.resolve import Resolved
from sparkiac.rules import evaluator, release, waivers
from sparkiac.rules.release import ServerFault
from sparkiac.rules.rule import Hit, Rule
from sparkiac.rules.subject import Subject

_LAYER_OF_USER: Final = "inventory"
_WRITTEN: Final = ("FCT001", "fact-of-a-fleet")
"""Code of all facts outside the catalog: no file can have a code of the catalog."""
_OF_NAMES: Final = re.compile(r"[\w-]")
"""Characters that continue a name."""


class Examined:
    """A plan that rules are run over. What several rules read is computed once, when the first of them reads it."""

    def __init__(self, plan: Plan) -> None:
        """Examine a plan."""
        self.plan = plan

    @cached_property
    def subjects(self) -> tuple[Subject, ...]:
        """The deployments and services that facts are about; for a group, only its leader."""
        return tuple(Subject(host, each) for host, each in self.plan.containers if each.server.leads)

    @cached_property
    def faults(self) -> tuple[ServerFault, ...]:
        """The faults in the options of vLLM deployments."""
        return tuple(release.faults(self.plan))


class Check(NamedTuple):
    """A rule that can be run."""

    rule: Rule
    page: Callable[[], str]
    """Returns its page, as Markdown."""
    find: Callable[[Examined], Iterable[Hit]]


@cache
def checks() -> tuple[Check, ...]:
    """Return all rules, sorted by code."""
    names = (found.name for found in pkgutil.iter_modules(__path__) if found.name[:1].isalpha() and "_" in found.name)
    modules = (importlib.import_module(f"{__name__}.{name}") for name in names)
    found = (*map(of_module, modules), *map(of_facts, sheets()))
    return tuple(sorted(found, key=lambda check: check.rule.code))


def of_module(module: ModuleType) -> Check:
    """Return the rule of a module: `check_faults` classifies errors in vLLM's options, `check` checks the plan."""
    page = partial(_page, module)
    if hasattr(module, "check_faults"):
        return Check(module.RULE, page, lambda examined: module.check_faults(examined.faults))
    return Check(module.RULE, page, lambda examined: module.check(examined.plan))


def of_facts(sheet: FactSheet) -> Check:
    """Return the rule of a file of facts."""
    if sheet.of_hosts:
        return Check(_rule(sheet), sheet.page, lambda examined: evaluator.find_hosts(examined.plan.hosts, sheet.facts))
    return Check(_rule(sheet), sheet.page, lambda examined: evaluator.find(examined.subjects, sheet.facts))


def of_library(library: Library) -> Iterator[Check]:
    """Return the rule of the facts in the user's repository and in sources, if there are any."""
    files = {place: tuple(each.fact() for each in file.valid.facts) for place, file in library.facts.items()}
    if files:
        severity = max(fact.severity for facts in files.values() for fact in facts)
        rule = Rule(*_WRITTEN, severity, (), "0.2.0")
        yield Check(rule, str, lambda examined: _of_files(examined, files))


def _of_files(examined: Examined, files: Mapping[str, tuple[Fact, ...]]) -> Iterator[Hit]:
    for place, facts in files.items():
        for hit in evaluator.find(examined.subjects, facts):
            yield hit._replace(message=f"{hit.message} ({place})")


def _page(module: ModuleType) -> str:
    return (module.__doc__ or "").strip()


def _rule(sheet: FactSheet) -> Rule:
    severity = max(fact.severity for fact in sheet.facts)
    return Rule(sheet.code, sheet.slug, severity, sheet.sources, sheet.since)


def check(plan: Plan, resolved: Resolved, *, rules: Iterable[Check] | None = None) -> tuple[Finding, ...]:
    """Run all rules over a plan and apply the inventory's waivers.

    A rule that raises gives an internal-error finding, because its verdict is unknown.
    """
    chosen = (*checks(), *of_library(resolved.library)) if rules is None else tuple(rules)
    findings: list[Finding] = [*waivers.unknown(plan, resolved, (each.rule.code for each in chosen))]
    examined = Examined(plan)
    for rule, _, find in chosen:
        try:
            hits = [hit for hit in find(examined) if rule.code == OPEN_POINT or not _is_open(hit, resolved)]
        except Exception as error:  # noqa: BLE001  a broken rule must not pass silently
            findings.append(_broken(rule, error))
        else:
            located = _located(hits, rule, resolved)
            findings += waivers.apply(plan, resolved, rule, zip(hits, located, strict=True))
    return tuple(findings)


def _is_open(hit: Hit, resolved: Resolved) -> bool:
    """Return whether a hit is about a value that is still to fill in."""
    value, _ = resolved.leaves.get(hit.leaf or (), (None, None))
    return isinstance(value, str) and is_placeholder(value)


def _located(hits: Iterable[Hit], rule: Rule, resolved: Resolved) -> Iterator[Finding]:
    for hit in hits:
        loc, origin = _place(hit, resolved)
        severity = min(hit.severity or rule.severity, rule.severity)
        sources, fix = "; ".join(hit.sources or rule.sources), _offered(hit, resolved)
        about = _subject(hit), str((hit.leaf or hit.path)[-1])
        yield Finding(rule.code, rule.slug, severity, hit.message, loc, hit.hint, sources, origin, fix, *about)


def _subject(hit: Hit) -> tuple[str, ...]:
    """Return the names of the entry and of the host that the message has."""
    named = dict.fromkeys(str(each) for each in (*hit.path[1:2], hit.host) if each is not None)
    return tuple(name for name in named if _has(hit.message, name))


def _has(text: str, name: str) -> bool:
    """Return whether a text has a name that is no part of a longer one, without a pattern for each name of a fleet."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not any(map(_OF_NAMES.match, (text[max(at - 1, 0) : at], text[end : end + 1]))):
            return True
        at = text.find(name, at + 1)
    return False


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


def _offered(hit: Hit, resolved: Resolved) -> tuple[Edit, ...]:
    """Return the fix of a hit; empty if the value comes from another layer, which a rule does not see.

    The user cannot edit a value of the recipe, and a value of the defaults also applies to other deployments. If two
    layers of the inventory set it, removing one would only reveal the other. A value that no layer sets may be added.
    """
    present = hit.leaf in resolved.leaves
    values = resolved.inventory.document.values
    for edit in hit.fix:
        if (present or edit.value is REMOVE) and not _alone(edit.path, hit.host, values.keys()):
            return ()
    return hit.fix


def _alone(path: Path, host: str | None, known: AbstractSet[Path]) -> bool:
    """Return whether a value is set at this path of a deployment or service and in no other layer of the inventory."""
    entry, rest = path[:2], path[2:]
    return path in known and ("defaults", *rest) not in known and (*entry, "per_host", host, *rest) not in known


def _broken(rule: Rule, error: Exception) -> Finding:
    message = f"rule {rule.code} broke: {type(error).__name__}: {error}"
    hint = "this is a defect of sparkiac, not of your file; please report it"
    return Finding("INT001", "internal-error", Severity.ERROR, message, hint=hint)
