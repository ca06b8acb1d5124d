"""The findings that a profile shows.

A profile includes all smaller profiles. The severity of a finding decides, unless its rule names the smallest profile
that includes it. So a new rule needs no line outside its own file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparkiac.report import Severity
from sparkiac.rules.rule import Rule

Floors = Mapping[str, Severity]
Hidden = frozenset[tuple[str, Severity]]
"""Codes with the severities whose findings are not shown."""


def always_shown(rule: Rule) -> bool:
    """Return whether a rule's findings are always shown: errors that cannot be waived cannot be hidden either."""
    return rule.severity is Severity.ERROR and not rule.waivable


def smallest(rule: Rule, floors: Floors) -> str:
    """Return the smallest profile that includes a rule; `floors` maps profiles, smallest first, to severities."""
    if always_shown(rule):
        return next(iter(floors))
    return rule.profile or next(name for name, least in floors.items() if rule.severity >= least)


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
    return mild | every_severity(rule.code for rule in rules if smallest(rule, floors) not in within)
