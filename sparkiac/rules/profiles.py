"""Which findings a profile shows.

A profile has all that the profiles before it have. The severity of a finding decides, unless its rule names the
smallest profile that has it. So a new rule needs no line outside its own file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.report import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sparkiac.rules.rule import Rule

    Floors = Mapping[str, Severity]
    Hidden = frozenset[tuple[str, Severity]]
    """Codes with the severities whose findings are not shown."""


def firm(rule: Rule) -> bool:
    """Whether its findings are always shown: an error that no inventory may waive cannot be left out either."""
    return rule.severity is Severity.ERROR and not rule.waivable


def smallest(rule: Rule, floors: Floors) -> str:
    """Name the smallest profile that has a rule; `floors` gives each profile's least severity, smallest first."""
    if firm(rule):
        return next(iter(floors))
    return rule.profile or next(name for name, least in floors.items() if rule.severity >= least)


def whole(codes: Iterable[str]) -> Hidden:
    """Return the codes with all severities."""
    return frozenset((code, severity) for code in codes for severity in Severity)


def outside(rules: Iterable[Rule], floors: Floors, profile: str) -> Hidden:
    """Return what a profile does not show."""
    names, rules = list(floors), tuple(rules)
    within = set(names[: names.index(profile) + 1])
    mild = frozenset(
        (rule.code, severity)
        for rule in rules
        for severity in Severity
        if severity < floors[profile] and not rule.profile
    )
    return mild | whole(rule.code for rule in rules if smallest(rule, floors) not in within)
