"""JSON of other machines: limits of depth and number, and sentences."""

from __future__ import annotations

import json
import re
import tracemalloc

import pytest
from pydantic import BaseModel

from sparkiac.model import answers


class Item(BaseModel):
    """An item with two keys that must be there."""

    digest: str
    size: int


class Listed(BaseModel):
    """A list of them."""

    items: tuple[Item, ...]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "Expecting value: line 1 column 1 (char 0)"),
        ("[1,", "Expecting value: line 1 column 4 (char 3)"),
        (b"\xff", "not a text in UTF-8"),
        ("[1]".encode("utf-16"), "not a text in UTF-8"),
        ("[NaN]", "NaN is not a finite number"),
        ("[-Infinity]", "-Infinity is not a finite number"),
        ("[1e400]", "1e400 is not a finite number"),
        ("[" * 65, "JSON with more than 64 levels"),
        ("[" * 100_000, "JSON with more than 64 levels"),
        ('{"a":' * 65 + "1" + "}" * 65, "JSON with more than 64 levels"),
        (f"[{'1,' * 200_000}1]", "JSON with more than 200000 values"),
        (f"[{'[],' * 100_000}1]", "JSON with more than 200000 values"),
    ],
    ids=lambda value: str(value)[:12].encode("unicode_escape").decode(),
)
def test_what_is_no_answer_is_a_sentence(text: str | bytes, fault: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(fault)}$"):
        answers.plain(text)


@pytest.mark.parametrize(
    "value",
    [
        {"a": "[" * 900_000, "b": '"[{,' * 300_000, "c": "\\" * 500_001, "d": '\\"' * 300_000},
        ["," * 900_000, 1.5, -2, None, True, "\u2028\U0001f600"],
        [[[1]] * 9] * 900,
        json.loads("[" * 64 + "]" * 64),
    ],
    ids=["brackets in texts", "commas in texts", "many", "deepest"],
)
def test_brackets_and_commas_in_texts_do_not_count(value: object) -> None:
    for ascii_only in (True, False):
        text = json.dumps(value, ensure_ascii=ascii_only)
        assert answers.plain(text) == value
        assert answers.plain(text.encode()) == value


@pytest.mark.parametrize(
    "text", ['"' + '\\"' * 2_000_000, "\\" * 4_000_000, '"' * 4_000_000, "]" * 4_000_000, '"x' * 2_000_000]
)
def test_odd_texts_take_little_memory(text: str) -> None:
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"."):
        answers.plain(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 << 20


def test_a_model_is_not_asked_about_too_many_values() -> None:
    """Pydantic would keep two faults of each item."""
    with pytest.raises(ValueError, match=r"^JSON with more than 20000 values$"):
        answers.read(Listed, '{"items": [' + "{}," * 100_000 + "{}]}")


def test_the_first_fault_of_a_model_names_its_place_and_no_value() -> None:
    with pytest.raises(ValueError, match=r"^items\.0\.size: int parsing$") as caught:
        answers.read(Listed, '{"items": [{"digest": "secret", "size": "secret"}, {}]}')
    assert caught.value.__context__ is None
    with pytest.raises(ValueError, match=r"^not a JSON object$"):
        answers.read(Listed, "[")
