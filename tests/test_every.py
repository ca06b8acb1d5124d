"""One test of many cases runs them all and names those that fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.every import every


@every([1, 2])
def test_each_case_runs_with_the_fixtures(number: int, tmp_path: Path) -> None:
    """The first parameter is the case."""
    assert tmp_path.is_dir()
    assert number in {1, 2}


def test_the_name_and_the_text_are_those_of_the_test_of_one_case() -> None:
    assert test_each_case_runs_with_the_fixtures.__name__ == "test_each_case_runs_with_the_fixtures"
    assert test_each_case_runs_with_the_fixtures.__doc__ == "The first parameter is the case."


def test_cases_that_fail_are_named_and_the_others_run() -> None:
    ran = []

    @every([2, 3, None, 20, 22], name=lambda number: f"case {number}")
    def of_one(number: int | None) -> None:
        ran.append(number)
        if number == 20:
            with pytest.raises(ValueError, match="small"):
                int("20")
        assert number % 2 == 0, "odd"  # type: ignore[operator]

    with pytest.raises(AssertionError) as caught:
        of_one()
    assert ran == [2, 3, None, 20, 22]
    said = [line for line in str(caught.value).splitlines() if line.startswith("case ")]
    assert [line.split(":")[:2] for line in said] == [
        ["case 3", " AssertionError"],
        ["case None", " TypeError"],
        ["case 20", " Failed"],
    ]
    assert "odd" in said[0]


def test_no_case_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="no case"):
        every([])
