"""Every code that the sources' facts were given is a rule, a host check, a symptom, or is held by something named."""

from __future__ import annotations

from typing import Final

from sparkiac import catalog
from sparkiac.rules.pages import pages
from tests.rules import coverage_flags, coverage_fleet, coverage_kernels, coverage_preflight
from tests.rules.codes import CODES

GROUPS: Final = (coverage_flags, coverage_fleet, coverage_kernels, coverage_preflight)


def test_every_code_is_in_one_place() -> None:
    covered = [code for group in GROUPS for code in group.COVERED]
    symptoms = {symptom.code for symptom in catalog.symptoms()}
    runtime = {code for code, phase in CODES if phase == "runtime"}
    assert len(covered) == len(set(covered))
    assert {*covered} | runtime == {code for code, _ in CODES}
    assert runtime <= symptoms


def test_nothing_is_left_undone() -> None:
    assert [code for group in GROUPS for code, how in group.COVERED.items() if how.startswith("not done")] == []


def test_a_code_that_was_dropped_is_not_given_to_another_rule() -> None:
    dropped = {code for group in GROUPS for code, how in group.COVERED.items() if how.startswith("dropped")}
    assert dropped & pages().keys() == set()
