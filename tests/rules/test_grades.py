"""No rule is more severe than its evidence allows, and a severity is computed in one place."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkiac import rules
from sparkiac.report import Severity
from sparkiac.rules.rule import Hit, rule
from tests.plan.fleets import deployment
from tests.rules.test_check import saying, verdict

if TYPE_CHECKING:
    from sparkiac.catalog.evidence import Kind, Verdict

ROOT = Path(rules.__path__[0])
CONTRACTS = {
    *("DRV101", "ENG004", "ENG005", "ENT100", "FIL001", "IMG003", "IMG100", "MDL001", "MN002", "MN004", "OPN001"),
}
"""The rules about what sparkiac itself promises: pins, secrets, and nothing that it would have to guess."""


def calls(name: str) -> dict[str, list[ast.Call]]:
    """Find the calls of a function in each module of the rules."""
    found = {path.stem: ast.walk(ast.parse(path.read_text())) for path in sorted(ROOT.glob("*.py"))}
    every = {stem: [each for each in nodes if isinstance(each, ast.Call)] for stem, nodes in found.items()}
    return {
        stem: named
        for stem, each in every.items()
        if (named := [call for call in each if isinstance(call.func, ast.Name) and call.func.id == name])
    }


@pytest.mark.parametrize(
    ("verdict", "kind", "severity"),
    [
        ("fails", "parser", Severity.ERROR),
        ("wrong", "arithmetic", Severity.ERROR),
        ("fails", "contract", Severity.ERROR),
        ("fails", "measured", Severity.WARNING),
        ("fails", "ab", Severity.WARNING),
        ("fails", "forum", Severity.INFO),
        ("exposed", "source", Severity.WARNING),
        ("ignored", "measured", Severity.INFO),
        ("slow", "arithmetic", Severity.INFO),
        ("advice", "source", Severity.INFO),
    ],
)
def test_the_severity_of_a_rule_is_what_its_evidence_supports(verdict: Verdict, kind: Kind, severity: Severity) -> None:
    assert rule("tst001_test", (verdict, kind), "a source").severity is severity


def test_a_finding_is_never_more_severe_than_its_rule() -> None:
    mild = rule("tst001_test", ("fails", "measured"), "a log")
    hits = (Hit(("name",), "wrong", "", severity=each) for each in (Severity.ERROR, Severity.INFO, None))
    found = verdict(deployment(), saying(*hits, rule=mild))
    assert [each.severity for each in found] == [Severity.WARNING, Severity.INFO, Severity.WARNING]


def test_no_module_of_a_rule_sets_a_severity_without_evidence() -> None:
    assert set(calls("Rule")) == {"__init__", "pages", "rule"}
    assert len(calls("rule")) == len({path.stem for path in ROOT.glob("[a-z]*_*.py")})
    texts = {path.stem: path.read_text() for path in ROOT.glob("[a-z]*_*.py")}
    assert [stem for stem, text in texts.items() if "Severity.ERROR" in text] == []


def test_a_promise_of_sparkiac_is_the_evidence_of_few_rules() -> None:
    made = {stem: ast.literal_eval(call.args[1])[1] for stem, (call,) in calls("rule").items()}
    assert {stem.partition("_")[0].upper() for stem, kind in made.items() if kind == "contract"} == CONTRACTS
