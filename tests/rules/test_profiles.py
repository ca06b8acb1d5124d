"""Profiles: which rules they show, and that a new rule needs no line outside its own file."""

from __future__ import annotations

import pytest

from sparkiac import catalog, rules
from sparkiac.report import Severity
from sparkiac.rules.pages import pages
from sparkiac.rules.rule import Hit, Rule, hidden
from tests.plan.fleets import checked, deployment, said
from tests.rules.test_check import saying

FLOORS = catalog.profiles().floors
HIT = Hit(("name",), "wrong", "mend it")


def rule(severity: Severity, *, waivable: bool = True, profile: str = "", code: str = "TST001") -> Rule:
    return Rule(code, "test", severity, (), "0.1.0", waivable=waivable, profile=profile)


def one_of_each() -> tuple[rules.Check, ...]:
    """Make a rule of each severity that finds something."""
    return tuple(saying(HIT, rule=rule(severity, code=f"TST00{int(severity)}")) for severity in Severity)


def test_the_profiles_go_from_errors_to_everything() -> None:
    expected = {"minimal": Severity.ERROR, "recommended": Severity.WARNING, "strict": Severity.INFO}
    assert list(FLOORS.items()) == list(expected.items())
    assert catalog.profiles().default == "recommended"


@pytest.mark.parametrize(
    ("given", "smallest"),
    [
        (rule(Severity.ERROR), "minimal"),
        (rule(Severity.WARNING), "recommended"),
        (rule(Severity.INFO), "strict"),
        (rule(Severity.ERROR, profile="recommended"), "recommended"),
        (rule(Severity.WARNING, profile="minimal"), "minimal"),
        (rule(Severity.ERROR, profile="strict", waivable=False), "minimal"),
        (rule(Severity.WARNING, profile="strict", waivable=False), "strict"),
    ],
)
def test_the_severity_decides_unless_the_rule_says_otherwise(given: Rule, smallest: str) -> None:
    assert given.smallest_profile(FLOORS) == smallest


def test_each_profile_has_what_the_ones_before_it_have() -> None:
    every = [page.rule for page in pages().values()]
    outside = [hidden(every, FLOORS, name) for name in FLOORS]
    assert outside[0] >= outside[1] >= outside[2] == frozenset()
    assert ("MEM100", Severity.WARNING) in outside[0] - outside[1]
    assert ("FLG004", Severity.INFO) in outside[1] - outside[2]
    assert ("SPD002", Severity.INFO) in outside[1] - outside[2], "an info of a rule that has errors too"
    assert ("SPD002", Severity.ERROR) not in outside[0]


def test_a_rule_names_a_profile_that_there_is_and_an_error_that_cannot_be_waived_names_none() -> None:
    for page in pages().values():
        assert page.rule.profile in {"", *FLOORS}, page.rule.code
        assert not (page.rule.always_shown and page.rule.profile), page.rule.code


def test_without_a_word_errors_and_warnings_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "checks", one_of_each)
    assert said(checked(deployment()).report.findings) == ["TST002 1:7 wrong", "TST003 1:7 wrong"]


def test_a_waiver_of_a_rule_that_is_not_shown_is_used_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "checks", one_of_each)
    waived = deployment() + "allow: [{code: TST001, reason: it is right here}]\n"
    assert said(checked(waived).report.findings) == ["TST002 1:7 wrong", "TST003 1:7 wrong"]
