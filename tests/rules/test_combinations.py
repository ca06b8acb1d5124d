"""Every known-bad combination is found, or the table says why not; and what is near to it is not found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.catalog.evidence import sheets
from sparkiac.plan import build
from sparkiac.report import Severity
from sparkiac.rules import Examined, evaluator
from tests.plan.fleets import checked, resolved, said
from tests.rules.combinations import Combination, combinations
from tests.rules.pages import CHECKS, CODES

if TYPE_CHECKING:
    from sparkiac.catalog.evidence import Fact
    from sparkiac.rules.rule import Hit

_FOUND: Final = [pytest.param(each, id=each.says) for each in combinations() if each.deployment]
_ASKED: Final = 98
"""Combinations that the table must have at least: 38 that were known to be missed or found, and 60 more."""


def fact(combination: Combination) -> Fact:
    """Return the fact that finds a combination."""
    sheet = next(each for each in sheets() if each.code == combination.code)
    return sheet.facts[(combination.fact or 1) - 1]


def hits(combination: Combination, text: str, locked: str) -> list[Hit]:
    """Apply what finds the combination, and nothing else."""
    plan = build(resolved(text, locked=locked))
    if combination.fact is not None:
        return list(evaluator.find(Examined(plan).subjects, (fact(combination),)))
    return list(next(check for check in CHECKS if check.rule.code == combination.code).find(Examined(plan)))


@pytest.mark.parametrize("combination", _FOUND)
def test_a_bad_combination_is_found(combination: Combination) -> None:
    text, locked = combination.bad
    outcome = checked(text, locked=locked, hidden=frozenset())
    assert outcome.plan is not None, said(outcome.report.findings)
    found = [each for each in outcome.report.findings if each.code == combination.code]
    assert found, said(outcome.report.findings)
    assert max(each.severity for each in found) is Severity[str(combination.severity).upper()]
    assert hits(combination, text, locked)


@pytest.mark.parametrize("combination", _FOUND)
def test_what_is_near_is_not_found(combination: Combination) -> None:
    for text, locked in combination.good:
        assert hits(combination, text, locked) == [], text


def test_the_table_says_of_each_combination_what_becomes_of_it() -> None:
    for each in combinations():
        assert [each.code, each.elsewhere, each.unprovable].count(None) == 2, each.says
        assert (each.code in CODES) is bool(each.deployment), each.says
        assert each.source, each.says
    assert len({each.says for each in combinations()}) == len(combinations()) >= _ASKED
