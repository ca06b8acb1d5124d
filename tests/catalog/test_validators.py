"""The facts from vLLM's validators rest on places that tools/vllm_validators found in its releases."""

from __future__ import annotations

import importlib
import re
from functools import cache
from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.catalog import interfaces
from sparkiac.catalog.evidence import code_pages, sheets
from tests.conftest import ROOT
from tests.every import every
from tests.rules.pages import CODES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from sparkiac.catalog.evidence import Fact

TOOLS: Final = ROOT / "tools" / "vllm_validators"
LINK: Final = re.compile(r"https://github\.com/vllm-project/vllm/blob/v([0-9.]+)/(vllm/.+)")
FACTS: Final = {
    f"{sheet.code}-{number}": fact
    for sheet in sheets()
    if sheet.code.startswith("VAL")
    for number, fact in enumerate(sheet.facts, start=1)
    if fact.releases is not None
}


@cache
def found() -> dict[tuple[str, str], str]:
    """Return the ranges that were found: last release and place → first release."""
    lines = [(TOOLS / name).read_text().splitlines()[1:] for name in ("refusals.found", "validators.found")]
    listed = [*(line.split()[2:5] for line in lines[0]), *(line.split()[1:] for line in lines[1])]
    return {(last, place): first for first, last, place in listed}


def cited(fact: Fact) -> Iterator[tuple[str, str]]:
    """Return last release and place of the links of a fact."""
    for each in fact.evidence:
        link = LINK.fullmatch(each.source)
        if each.kind == "source" and link is not None:
            yield link[1], link[2]


def between(first: str, release: str, last: str) -> bool:
    return interfaces.release(first) <= interfaces.release(release) <= interfaces.release(last)


@every(FACTS)
def test_each_link_is_a_line_that_was_found(name: str) -> None:
    links = list(cited(FACTS[name]))
    assert links
    assert set(links) <= set(found())


@every(FACTS)
def test_the_releases_of_a_fact_have_its_validators(name: str) -> None:
    fact = FACTS[name]
    assert fact.releases is not None
    first, before = fact.releases
    known = [each for each in interfaces.versions() if interfaces.release(each) >= interfaces.release(first or "0")]
    scope = [each for each in known if before is None or interfaces.release(each) < interfaces.release(before)]
    ranges = [(found()[link], link[0]) for link in cited(fact)]
    assert scope[0] == first
    assert before is None or before in interfaces.versions()
    assert [each for each in scope if not any(between(low, each, high) for low, high in ranges)] == []


@every((TOOLS / "validators.run").read_text().splitlines()[1:])
def test_vllm_itself_refuses_what_a_fact_says_in_its_releases_alone(line: str) -> None:
    release, name, verdict = line.split()
    releases = FACTS[name].releases
    assert releases is not None
    first, before = (interfaces.release(each) if each else None for each in releases)
    number = interfaces.release(release)
    inside = (first is None or number >= first) and (before is None or number < before)
    assert verdict == ("refused" if inside else "taken")


def program(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    """Import a program of tools/vllm_validators."""
    monkeypatch.syspath_prepend(TOOLS)
    monkeypatch.syspath_prepend(ROOT / "tools" / "vllm_interface")
    return importlib.import_module(name)


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program(monkeypatch, "validators")


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program(monkeypatch, "refusals")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("if tokens < length:", 2),
        ("tokens (5) is below the length", 3),
        ("if   tokens<length :", 2),
        ("if tokens > length:", None),
    ],
)
def test_a_place_is_found_however_its_lines_are_broken(tool: ModuleType, text: str, line: int | None) -> None:
    source = (
        'def check():\n    if tokens < length:\n        raise E(f"tokens (5) is "\n            "below the length")\n'
    )
    assert tool.line(source, text) == line


def test_releases_without_a_place_break_its_range(tool: ModuleType) -> None:
    there = {"0.1.0": {"a": "x#L1"}, "0.2.0": {"a": "x#L2"}, "0.3.0": {}, "0.4.0": {"a": "y#L4"}}
    assert list(tool.ranges(there, "a")) == [("0.1.0", "0.2.0", "x#L2"), ("0.4.0", "0.4.0", "y#L4")]
    assert list(tool.ranges(there, "b")) == []


def test_the_list_names_each_validator_that_was_found(tool: ModuleType) -> None:
    listed = {place.name for place in tool.places()}
    assert {line.split()[0] for line in (TOOLS / "validators.found").read_text().splitlines()[1:]} == listed


def hashes(refusals: ModuleType, source: str) -> list[str]:
    return [each.hash for each in refusals.refusals("vllm/config/x.py", source)]


REFUSING: Final = """
class Config:
    def check(self):
        if self.a:
            raise ValueError("one")
        elif self.b == "c":
            raise NotImplementedError
        else:
            assert self.d, "two"
        try:
            pass
        except KeyError as e:
            raise ValueError("three") from e
        _raise_unsupported_error(feature_name="four")
"""


def test_each_raise_and_assertion_is_a_refusal(refusals: ModuleType) -> None:
    found = list(refusals.refusals("vllm/config/x.py", REFUSING))
    assert [each.says for each in found] == ["one", "NotImplementedError", "self.d", "three", "four"]
    assert [each.place for each in found] == [f"vllm/config/x.py#L{line}" for line in (5, 7, 9, 13, 14)]
    assert {each.function for each in found} == {"Config.check"}
    assert len(set(hashes(refusals, REFUSING))) == 5


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        (REFUSING.replace("self.a", "(self . a)").replace('"c"', "'c'"), True),
        (REFUSING.replace('"one"', '"other words"'), True),
        ("\n\n" + REFUSING, True),
        (REFUSING.replace("self.a", "self.a and self.z"), False),
        (REFUSING.replace("def check", "def checked"), False),
    ],
)
def test_a_refusal_is_told_by_its_function_and_its_conditions(
    refusals: ModuleType, changed: str, *, same: bool
) -> None:
    assert (hashes(refusals, changed)[0] == hashes(refusals, REFUSING)[0]) is same


def test_each_refusal_is_found_or_has_a_reason(refusals: ModuleType) -> None:
    pages = {page.name.partition("_")[0].upper() for page in code_pages()}
    facts = {f"{sheet.code}-{number + 1}" for sheet in sheets() for number in range(len(sheet.facts))}
    decisions = {*CODES, *pages, *facts, *refusals.reasons()}
    assert [row for row in refusals.known() if row.decision not in decisions] == []


def test_a_refusal_is_found_by_a_fact_about_its_releases(refusals: ModuleType) -> None:
    rules = {sheet.code: sheet.facts for sheet in sheets() if sheet.code.startswith("VAL")}
    for row in refusals.known():
        code, _, number = row.decision.partition("-")
        if code in rules:
            fact = rules[code][int(number) - 1]
            assert fact.releases.include(row.first) or fact.releases.include(row.last), row


def test_the_page_has_the_table_of_refusals(refusals: ModuleType) -> None:
    page = refusals.PAGE.read_text("utf-8")
    assert refusals.written(page, refusals.known()) == page
    assert "| 0.33.0 | " in page


def test_random_draws_differ_only_by_the_platform_of_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = program(monkeypatch, "draws")
    page = draws.PAGE.read_text("utf-8")
    assert draws.table(draws.known()) in page
    assert [line for line in draws.known() if f" {draws.OPEN}=" in line] == []
    assert {line.split()[0] for line in draws.known()} >= {"0.23.0", "0.32.0", "0.33.0"}


@pytest.mark.parametrize(
    ("found", "said", "reason"),
    [
        ("", "ImportError: Arctic Inference is required for suffix decoding", "suffix"),
        ("VAL002 dual-batch overlap needs all2all_backend", "", "dbo"),
        ("", "ValueError: dual-batch overlap needs all2all_backend", "?"),
    ],
)
def test_a_difference_has_a_reason_by_who_refuses(
    monkeypatch: pytest.MonkeyPatch, found: str, said: str, reason: str
) -> None:
    assert program(monkeypatch, "draws").why(found, said) == reason
