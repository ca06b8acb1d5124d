"""A rule's docstring is its page, and the examples on the page are true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkiac import catalog, rules
from sparkiac.report import Severity
from tests.every import every
from tests.plan.fleets import checked, said
from tests.rules.cases import CASES
from tests.rules.pages import CHECKS, CODES, Case, examples, lock

if TYPE_CHECKING:
    from sparkiac.report import Finding
    from sparkiac.rules import Check

every_rule = pytest.mark.parametrize("check", CHECKS, ids=CODES)


CATALOG = Path(catalog.__path__[0])


def found(text: str, code: str, *, locked: str | None = None) -> tuple[Finding, ...]:
    """Run the pipeline with all rules; give the findings with this code. None may break, and the input is valid."""
    outcome = checked(text, locked=locked, hidden=frozenset())
    assert outcome.plan is not None, said(outcome.report.findings)
    assert "INT001" not in {finding.code for finding in outcome.report.findings}
    return tuple(finding for finding in outcome.report.findings if finding.code == code)


@every(CHECKS, name=lambda check: check.rule.code)
def test_the_page_starts_with_a_sentence_and_has_both_examples(check: Check) -> None:
    assert re.match(r"[A-Z`].*\.\n\n", check.page()), "the first line says in one sentence what is wrong"
    assert examples(check, "Bad"), "a page needs `Bad:` and a yaml block"
    assert examples(check, "Good"), "a page needs `Good:` and a yaml block"
    shown = [*examples(check, "Bad"), *examples(check, "Good"), *([lock(check)] if lock(check) else [])]
    assert check.page().count("```yaml") == len(shown)


@every_rule
def test_the_bad_example_has_the_finding_at_one_of_its_lines(check: Check) -> None:
    for text in examples(check, "Bad"):
        findings = found(text, check.rule.code, locked=lock(check))
        assert findings, f"{check.rule.code} finds nothing in its bad example"
        for finding in findings:
            assert finding.loc is not None
            assert finding.loc.file == "lab.yaml"
            assert finding.loc.text == text.split("\n")[finding.loc.mark.line - 1] != ""
            assert finding.slug == check.rule.slug
            assert finding.hint, "a finding says what to do"
            assert set(finding.source.split("; ")) <= set("; ".join(check.rule.sources).split("; "))
        assert max(finding.severity for finding in findings) <= check.rule.severity
    shown = [each for text in examples(check, "Bad") for each in found(text, check.rule.code, locked=lock(check))]
    assert max(finding.severity for finding in shown) is check.rule.severity


@every_rule
def test_the_good_example_has_no_such_finding(check: Check) -> None:
    for text in examples(check, "Good"):
        assert found(text, check.rule.code, locked=lock(check)) == ()


@every(CHECKS, name=lambda check: check.rule.code)
def test_a_rules_names_fit_together(check: Check) -> None:
    rule = check.rule
    assert re.fullmatch(r"(?:[A-Z]{3}|MN)[0-9]{3}", rule.code)
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", rule.slug)
    assert rule.sources
    assert rule.severity in Severity
    assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", rule.since)


def test_every_file_of_a_rule_is_loaded_once_and_codes_are_unique() -> None:
    root = Path(rules.__path__[0])
    modules = {path.stem for path in root.glob("*_*.py") if not path.stem.startswith("__")}
    facts = {path.stem.replace("-", "_") for path in CATALOG.glob("facts/*.md")}
    assert modules.isdisjoint(facts)
    assert {f"{rule.code.lower()}_{rule.slug.replace('-', '_')}" for rule, *_ in CHECKS} == modules | facts
    assert len(set(CODES)) == len(CODES)
    assert sorted(CODES) == CODES


def test_no_rule_takes_a_code_of_another_stage() -> None:
    assert {code[:3] for code in CODES}.isdisjoint({"YML", "INV", "REF", "WVR", "INT"})


@pytest.mark.parametrize(
    ("code", "case"), [(code, case) for code, cases in CASES.items() for case in cases], ids=lambda part: str(part)[:6]
)
def test_further_cases(code: str, case: Case) -> None:
    assert code in CODES
    assert tuple(said(found(case.text, code, locked=case.locked))) == case.said
