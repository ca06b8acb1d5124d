"""Each code that is looked at on a host is given by a check that a test has seen give it, or cannot come about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sparkiac.rules.pages import pages
from tests.rules.codes import CODES
from tests.rules.coverage_preflight import COVERED

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
BY_CONSTRUCTION = {
    code: said.partition(": ")[2] for code, said in COVERED.items() if said.startswith("by construction")
}


def test_every_code_of_this_phase_is_accounted_for() -> None:
    assert set(COVERED) == {code for code, phase in CODES if phase == "preflight"}


@pytest.mark.parametrize("code", sorted(set(COVERED) - set(BY_CONSTRUCTION)))
def test_a_code_that_is_given_has_a_page_and_a_test_that_says_so(code: str) -> None:
    assert COVERED[code].startswith("preflight: ")
    assert pages()[code].rule.phase == "preflight"
    tests = [path.read_text() for path in HERE.glob("test_*.py") if path != Path(__file__)]
    assert re.search(rf'"""\([^)]*\b{code}\b', "\n".join(tests)), "a test's docstring names the code"


@pytest.mark.parametrize("code", BY_CONSTRUCTION)
def test_what_cannot_come_about_has_a_test_that_shows_it(code: str) -> None:
    path, _, name = BY_CONSTRUCTION[code].partition("::")
    assert f"\ndef {name}(" in (ROOT / path).read_text()
    assert code not in pages()
