"""The data of a rule and of its hits, and the profiles that show its findings.

A profile includes all smaller profiles. The severity of a finding decides, unless its rule names the smallest profile
that includes it. So a new rule needs no line outside its own file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sparkiac.catalog.evidence import PROOF, TESTIMONY, Kind, Verdict, graded
from sparkiac.plan import Container, HostPlan
from sparkiac.report import REMOVE, Edit, Path, Severity

Floors = Mapping[str, Severity]
"""Profile → lowest severity that it shows; the smallest profile is first."""
Hidden = frozenset[tuple[str, Severity]]
"""Codes with the severities whose findings are not shown."""


class Rule(NamedTuple):
    """A rule's code, severity and sources."""

    code: str
    slug: str
    severity: Severity
    sources: tuple[str, ...]
    since: str
    """First version of sparkiac that has it."""
    waivable: bool = True
    """Whether an inventory may waive its findings."""
    profile: str = ""
    """Smallest profile that includes the rule; empty if it follows from the severity."""
    phase: str = "generate"
    """When it is reported: `generate`, for the inventory; `preflight`, on a host, before anything is changed there;
    `lock`, for the lock and its upstream requests."""

    @property
    def always_shown(self) -> bool:
        """Return whether its findings are always shown: errors that cannot be waived cannot be hidden either."""
        return self.severity is Severity.ERROR and not self.waivable

    def smallest_profile(self, floors: Floors) -> str:
        """Return the smallest profile that includes it."""
        if self.always_shown:
            return next(iter(floors))
        return self.profile or next(name for name, least in floors.items() if self.severity >= least)


class Hit(NamedTuple):
    """One thing that a rule found."""

    path: Path
    """Its position in the inventory."""
    message: str
    hint: str
    leaf: Path | None = None
    """Path of the resolved value that causes the finding; the finding shows its origin."""
    host: str | None = None
    """The host that it concerns, for the waivers of that host."""
    severity: Severity | None = None
    """A lower severity than the rule's, if only a likely cause was found. A higher one has no effect."""
    fix: tuple[Edit, ...] = ()
    """Edits of the inventory that fix it, if it can be fixed automatically."""
    inside: Path = ()
    """Keys inside the value at `leaf` that lead to the fault."""
    sources: tuple[str, ...] = ()
    """Its sources, if they differ from the rule's."""
    at_key: bool = False
    """Whether the key is at fault, not its value."""


def rule(name: str, grade: tuple[Verdict, Kind], *sources: str, waivable: bool = True, profile: str = "") -> Rule:
    """Return the rule of a module, whose name is `<code>_<slug>`.

    Its severity follows from its grade: its verdict and the kind of its evidence.
    """
    code, _, slug = name.rpartition(".")[2].partition("_")
    severity = graded(grade[0], proven=grade[1] in PROOF, named=grade[1] in TESTIMONY)
    return Rule(code.upper(), slug.replace("_", "-"), severity, sources, "0.1.0", waivable, profile)


def hit(  # noqa: PLR0913, PLR0917  the parts of a hit
    host: HostPlan,
    container: Container,
    key: tuple[str, ...],
    message: str,
    hint: str,
    severity: Severity | None = None,
    *,
    fix: tuple[Edit, ...] = (),
) -> Hit:
    """Return a hit at a setting of a container. Unlike its path in the file, a deployment's leaf names the host."""
    entry = container.path if container.kind == "service" else (*container.path, host.name)
    path, leaf = (*container.path, *key), (*entry, *key)
    return Hit(path, message, hint, leaf=leaf, host=host.name, severity=severity, fix=fix)


def removable(host: HostPlan, container: Container, key: tuple[str, ...], message: str, hint: str) -> Hit:
    """Return a hit at a setting of a container whose fix removes the setting."""
    return hit(host, container, key, message, hint, fix=(Edit((*container.path, *key), REMOVE),))


def every_severity(codes: Iterable[str]) -> Hidden:
    """Return the codes with all severities."""
    return frozenset((code, severity) for code in codes for severity in Severity)


def hidden(rules: Iterable[Rule], floors: Floors, profile: str) -> Hidden:
    """Return the codes and severities that a profile does not show."""
    names, rules = list(floors), tuple(rules)
    within = set(names[: names.index(profile) + 1])
    mild = frozenset(
        (rule.code, severity)
        for rule in rules
        for severity in Severity
        if severity < floors[profile] and not rule.profile
    )
    return mild | every_severity(rule.code for rule in rules if rule.smallest_profile(floors) not in within)
