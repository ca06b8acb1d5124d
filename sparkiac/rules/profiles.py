"""Which findings a profile shows.

A profile has all that the profiles before it have. A rule may name the smallest one that has it; otherwise its
severity decides. So a new rule needs no line outside its own file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.report import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sparkiac.rules.rule import Rule

    Floors = Mapping[str, Severity]


def firm(rule: Rule) -> bool:
    """Whether its findings are always shown: an error that no inventory may waive cannot be left out either."""
    return rule.severity is Severity.ERROR and not rule.waivable


def smallest(rule: Rule, floors: Floors) -> str:
    """Name the smallest profile that has a rule; `floors` gives each profile's least severity, smallest first."""
    if firm(rule):
        return next(iter(floors))
    return rule.profile or next(name for name, least in floors.items() if rule.severity >= least)


def outside(rules: Iterable[Rule], floors: Floors, profile: str) -> frozenset[str]:
    """Give the codes that a profile does not show."""
    names = list(floors)
    within = set(names[: names.index(profile) + 1])
    return frozenset(rule.code for rule in rules if smallest(rule, floors) not in within)
