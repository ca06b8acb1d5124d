"""Options as words and as variables."""

from __future__ import annotations

from typing import Any

import pytest

from sparkiac.engines.tables import Option, chosen, known, variables, written

KNOWN = {
    "a_b": Option("text"),
    "renamed": Option("text", spelling="--other-name"),
    "bare": Option("switch"),
    "both": Option("switch", negated=True),
}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"a_b": "x"}, ["--a-b=x"]),
        ({"renamed": 1}, ["--other-name=1"]),
        ({"bare": True, "both": True}, ["--bare", "--both"]),
        ({"bare": False}, []),
        ({"both": False}, ["--no-both"]),
        ({"not_known": False}, ["--no-not-known"]),
    ],
)
def test_a_table_says_how_an_option_is_written(options: dict[str, Any], expected: list[str]) -> None:
    assert list(written(options, KNOWN)) == expected


def test_underscores_stay_where_a_program_wants_them() -> None:
    assert written({"max_len": 1, "a_b": True}, KNOWN, separator="_") == ("--a_b", "--max_len=1")


def test_option_and_value_are_separate_words_for_programs_that_require_it() -> None:
    options = {"a_b": "x y", "c": -1, "d": {"k": [1]}, "e": ("p", 2), "f": True}
    expected = ("--a-b", "x y", "--c", "-1", "--d", '{"k":[1]}', "--e", "p", "2", "--f")
    assert written(options, KNOWN, joined=False) == expected


def test_variables_are_text() -> None:
    table = {"on": Option("switch", spelling="APP_ON"), "off": Option("switch"), "few": Option("words")}
    options = {"on": True, "off": False, "few": ("a", 1), "other": 0.5, "deep": {"b": 1, "a": None}}
    assert variables(options, table) == {
        "APP_ON": "1",
        "OFF": "0",
        "FEW": "a,1",
        "OTHER": "0.5",
        "DEEP": '{"a":null,"b":1}',
    }


def test_tables_are_made_of_names() -> None:
    assert known(integer="a b", reversible="c") == {
        "a": Option("integer"),
        "b": Option("integer"),
        "c": Option("switch", negated=True),
    }
    assert chosen(d="x y") == {"d": Option("text", ("x", "y"))}
