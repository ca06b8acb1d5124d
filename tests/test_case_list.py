"""The list of cases names tests that exist."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.every import every

ROOT = Path(__file__).parent.parent
LINES = [line for line in (ROOT / "tests/cases.txt").read_text().splitlines() if not line.startswith("#")]
CASES = dict(line.split() for line in LINES)
SECTIONS = {"a": 32, "b": 16, "c": 24, "d": 16, "e": 20, "f": 20, "g": 16, "h": 12, "i": 22, "j": 8}


def test_every_case_is_listed_once() -> None:
    assert len(CASES) == len(LINES)
    assert list(CASES) == [f"{letter}{n:02}" for letter, count in SECTIONS.items() for n in range(1, count + 1)]


@cache
def functions(file: str) -> set[str]:
    """Return the names of the tests of a file."""
    found = ast.parse((ROOT / file).read_text()).body
    return {each.name for each in found if isinstance(each, ast.FunctionDef)}


@every(CASES)
def test_the_test_of_a_case_exists(case: str) -> None:
    file, name = CASES[case].split("::")
    assert name in functions(file)
