"""A rule's docstring is its page, and the examples on the page are true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkiac import rules
from sparkiac.report import Severity
from tests.plan.fleets import checked, said
from tests.rules.cases import CASES
from tests.rules.pages import CODES, MODULES, Case, examples, lock

if TYPE_CHECKING:
    from types import ModuleType

    from sparkiac.report import Finding

every_rule = pytest.mark.parametrize("module", MODULES, ids=CODES)


def found(text: str, code: str, *, locked: str | None = None) -> tuple[Finding, ...]:
    """Run the pipeline with all rules; give the findings with this code. None may break, and the input is valid."""
    outcome = checked(text, locked=locked, hidden=frozenset())
    assert outcome.plan is not None, said(outcome.report.findings)
    assert "INT001" not in {finding.code for finding in outcome.report.findings}
    return tuple(finding for finding in outcome.report.findings if finding.code == code)


@every_rule
def test_the_page_starts_with_a_sentence_and_has_both_examples(module: ModuleType) -> None:
    assert module.__doc__ is not None
    assert re.match(r"[A-Z`].*\.\n\n", module.__doc__), "the first line says in one sentence what is wrong"
    assert examples(module, "Bad"), "a page needs `Bad:` and a yaml block"
    assert examples(module, "Good"), "a page needs `Good:` and a yaml block"
    shown = [*examples(module, "Bad"), *examples(module, "Good"), *([lock(module)] if lock(module) else [])]
    assert module.__doc__.count("```yaml") == len(shown)


@every_rule
def test_the_bad_example_has_the_finding_at_one_of_its_lines(module: ModuleType) -> None:
    for text in examples(module, "Bad"):
        findings = found(text, module.RULE.code, locked=lock(module))
        assert findings, f"{module.RULE.code} finds nothing in its bad example"
        for finding in findings:
            assert finding.loc is not None
            assert finding.loc.file == "lab.yaml"
            assert finding.loc.text == text.split("\n")[finding.loc.mark.line - 1] != ""
            assert (finding.slug, finding.severity) == (module.RULE.slug, module.RULE.severity)
            assert finding.hint, "a finding says what to do"
            assert finding.source == "; ".join(module.RULE.sources)


@every_rule
def test_the_good_example_has_no_such_finding(module: ModuleType) -> None:
    for text in examples(module, "Good"):
        assert found(text, module.RULE.code, locked=lock(module)) == ()


@every_rule
def test_a_rules_names_fit_together(module: ModuleType) -> None:
    rule = module.RULE
    assert re.fullmatch(r"(?:[A-Z]{3}|MN)[0-9]{3}", rule.code)
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", rule.slug)
    assert module.__name__ == f"sparkiac.rules.{rule.code.lower()}_{rule.slug.replace('-', '_')}"
    assert rule.sources
    assert rule.severity in Severity
    assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", rule.since)


def test_every_file_of_a_rule_is_loaded_once_and_codes_are_unique() -> None:
    files = {path.stem for path in Path(rules.__path__[0]).glob("*_*.py") if not path.stem.startswith("__")}
    assert {module.__name__.rpartition(".")[2] for module in MODULES} == files
    assert len(set(CODES)) == len(CODES) == len(files)
    assert sorted(CODES) == CODES


def test_no_rule_takes_a_code_of_another_stage() -> None:
    assert {code[:3] for code in CODES}.isdisjoint({"YML", "INV", "REF", "WVR", "INT"})


@pytest.mark.parametrize(
    ("code", "case"), [(code, case) for code, cases in CASES.items() for case in cases], ids=lambda part: str(part)[:6]
)
def test_further_cases(code: str, case: Case) -> None:
    assert code in CODES
    assert tuple(said(found(case.text, code, locked=case.locked))) == case.said
