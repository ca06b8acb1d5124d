"""Every code that sparkiac can give has a page, and every page has a code that sparkiac can give."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from sparkiac import pipeline, rules
from sparkiac.catalog.evidence import sheets
from sparkiac.report import Severity
from sparkiac.rules.pages import Page, others, pages
from tests.conftest import ROOT
from tests.every import every
from tests.plan.fleets import deployment
from tests.rules.codes import CODES
from tests.rules.test_check import breaks, rule_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sparkiac.report import Finding

PACKAGE = ROOT / "sparkiac"
HOST = PACKAGE / "host"
CODE = re.compile(r"(?:[A-Z]{3}|MN)[0-9]{3}")
WITHOUT_EXAMPLES = {"YML001", "YML009", "INT001"}
"""What no text can show in a few lines: bytes that are no text, a hundred faults, a defect of sparkiac."""
ON_HOSTS = {page.rule.code for page in others() if page.rule.phase == "preflight"}
"""What is found on a host, and in no inventory."""
OF_FACTS = {each.code for each in sheets()}
BY_LOCK = {page.rule.code for page in others() if page.rule.phase == "lock"} | {
    "FCT001",
    "IMP001",
    "MN104",
    "RCP001",
    "RCP002",
    "RCP003",
    "RCP004",
    "RCP005",
}
"""What is found by asking upstream, in an imported file, in a record of measurements, or in a path of a recipe or a
file of facts."""
HOST_CODE = re.compile(r"\b(?:[A-Z]{3}|MN)[0-9]{3}\b")


def sources() -> list[Path]:
    """Return all modules but the programs of hosts."""
    return [path for path in PACKAGE.rglob("*.py") if HOST not in path.parents]


def text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def codes(tree: ast.AST) -> set[str]:
    """Return every text of a module that is a code."""
    return {text(node) for node in ast.walk(tree) if CODE.fullmatch(text(node))}


def named(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield every code that a module names together with a slug."""
    for node in ast.walk(tree):
        match node:
            case ast.Tuple(elts=[code, slug]) | ast.Call(args=[code, slug, *_]) if CODE.fullmatch(text(code)):
                yield text(code), text(slug)
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                yield from ((text(code), text(slug)) for code, slug in pairs if code and CODE.fullmatch(text(code)))
            case _:
                pass


def found(raw: bytes) -> tuple[Finding, ...]:
    return pipeline.check(pipeline.InputFile("lab.yaml", raw), None).report.findings


def test_every_code_of_the_package_has_a_page_and_no_page_is_of_another() -> None:
    named = {code for path in sources() for code in codes(ast.parse(path.read_text()))}
    assert named | {check.rule.code for check in rules.checks()} == set(pages()) - ON_HOSTS


def test_the_preflight_names_the_codes_that_have_its_pages_and_no_other() -> None:
    """Its modules and the playbooks say them beside what they found, or name a fact that an inventory may show too."""
    parts = [*(HOST / "preflight").rglob("*.py"), *(ROOT / "playbooks").rglob("*.yml")]
    texts = [re.sub("# noqa: .*", "", path.read_text()) for path in parts]
    assert {code for text in texts for code in HOST_CODE.findall(text)} - OF_FACTS == ON_HOSTS
    assert {code for code, phase in CODES if phase == "preflight"} > ON_HOSTS


def test_a_page_has_the_slug_that_findings_have() -> None:
    pairs = {pair for path in sources() for pair in named(ast.parse(path.read_text())) if pair[1]}
    assert {code for code, _ in pairs} >= {page.rule.code for page in others()} - ON_HOSTS - BY_LOCK - {"YML009"}
    slugs = {code: page.rule.slug for code, page in pages().items()}
    assert {pair for pair in pairs if re.fullmatch(r"[a-z]+(-[a-z]+)*", pair[1])} <= set(slugs.items())


def test_pages_are_in_the_order_of_codes_and_no_code_has_two() -> None:
    assert list(pages()) == sorted(pages())
    assert len(pages()) == len(others()) + len(rules.checks())


@every(pages())
def test_a_page_says_in_a_sentence_what_is_wrong_and_then_why(code: str) -> None:
    page = pages()[code]
    assert re.fullmatch(r"[A-Z`].*\.", page.title)
    assert len(page.why) > len(page.title) / 2
    assert page.text.startswith(page.title)
    assert (bool(page.bad), bool(page.good)) == ((code not in WITHOUT_EXAMPLES | ON_HOSTS | BY_LOCK,) * 2)
    bases = page.text.count(", the first lines of each example on it:")
    assert page.text.count("```yaml") == bases + len(page.bad) + len(page.good) + bool(page.lock)
    assert "```" not in page.why


@pytest.mark.parametrize(
    "page", [page for page in others() if page.rule.code not in WITHOUT_EXAMPLES | ON_HOSTS | BY_LOCK]
)
def test_the_examples_of_a_page_hold(page: Page) -> None:
    rule = page.rule
    for example in page.bad:
        findings = found(example.encode())
        assert {(each.code, each.slug, each.severity) for each in findings} == {(rule.code, rule.slug, rule.severity)}
    for example in page.good:
        assert {each.code for each in found(example.encode())} <= {"FLG106", "IMG003", "MDL001", "MEM100"}


def test_what_has_no_example_is_given_too(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [*found(b"\xff"), *found(b"name: lab\n" + b"x: 1\n" * 102)]
    monkeypatch.setattr(rules, "checks", lambda: (rule_of(breaks),))
    seen += found(deployment().encode())
    given = {(each.code, each.slug, each.severity) for each in seen}
    facts = [pages()[code].rule for code in WITHOUT_EXAMPLES]
    assert {(rule.code, rule.slug, Severity.ERROR) for rule in facts} <= given
