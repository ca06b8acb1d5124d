"""Placeholders: which of the two dialects a command is in shows when both are tried."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkiac.foreign.launch import Unreadable
from sparkiac.foreign.recipe_reader import MAX_CHARACTERS, fill

NAMES = st.sampled_from(["port", "model", "tensor_parallel"])
VALUES = {"port": "8000", "model": "a/b", "tensor_parallel": "2"}
_JSON = st.recursive(
    st.one_of(st.booleans(), st.integers(-9, 9), st.sampled_from(["mtp", "", "a b"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=6,
).filter(lambda value: isinstance(value, dict | list))


def test_doubled_braces_are_braces() -> None:
    filled = fill("""x '{{"a":{{"b":{n}}}}}' {port}""", {"n": "3", "port": "1"}, strict=True)
    assert (filled.text, filled.doubled, filled.valid_json) == ("""x '{"a":{"b":3}}' 1""", True, True)
    assert filled.used == {"n", "port"}


def test_single_braces_around_json_mean_themselves() -> None:
    filled = fill("""x '{"a":{"b":{n}}}' {port}""", {"n": "3", "port": "1"}, strict=False)
    assert (filled.text, filled.doubled, filled.valid_json) == ("""x '{"a":{"b":3}}' 1""", False, True)


@pytest.mark.parametrize("strict", [True, False])
def test_the_dialect_is_found_whatever_the_format_says(strict: bool) -> None:  # noqa: FBT001  a case
    doubled = fill("""x '{{"a":{n}}}'""", {"n": "3"}, strict=strict)
    single = fill("""x '{"a":{n}}'""", {"n": "3"}, strict=strict)
    assert doubled.text == single.text == """x '{"a":3}'"""
    assert (doubled.doubled, single.doubled) == (True, False)
    assert doubled.valid_json
    assert single.valid_json


def test_braces_that_close_nested_json_stay_two() -> None:
    assert fill("""x '{"a":{"b":1}}'""", {}, strict=False).text == """x '{"a":{"b":1}}'"""


def test_json_that_is_broken_in_both_dialects_is_reported() -> None:
    filled = fill("""x '{"a":}' """, {}, strict=False)
    assert not filled.valid_json
    assert filled.text == """x '{"a":}' """


def test_a_name_without_a_value_stays_and_is_reported() -> None:
    filled = fill("x {port} {host}", {"port": "1"}, strict=True)
    assert (filled.text, filled.missing) == ("x 1 {host}", ("host",))


def test_a_variable_of_the_shell_is_not_a_placeholder() -> None:
    filled = fill("x ${NODE_IP} ${PATH:-} {port}", VALUES, strict=False)
    assert (filled.text, filled.missing, filled.valid_json) == ("x ${NODE_IP} ${PATH:-} 8000", (), True)


def test_a_value_may_name_another_in_the_single_dialect_only() -> None:
    values = {"base": "http://localhost:{port}", "port": "8000"}
    assert fill("x {base}", values, strict=False).text == "x http://localhost:8000"
    assert fill("x {base}", values, strict=True).text == "x http://localhost:{port}"


def test_values_that_name_each_other_come_to_an_end() -> None:
    assert fill("{a}", {"a": "{b}", "b": "{a}"}, strict=False).text in {"{a}", "{b}"}
    assert fill("{a}", {"a": "x{a}"}, strict=False).text.startswith("xxx")


def test_values_that_grow_without_bound_are_refused() -> None:
    doubling = {f"v{number}": f"{{v{number + 1}}}" * 30 for number in range(10)}
    with pytest.raises(Unreadable, match=re.escape(f"more than {MAX_CHARACTERS} characters")):
        fill("{v0}", doubling, strict=False)


def test_a_brace_alone_is_none_of_str_format() -> None:
    filled = fill("x } {port}", VALUES, strict=True)
    assert (filled.text, filled.doubled) == ("x } 8000", False)
    with pytest.raises(Unreadable):
        fill("x" * (MAX_CHARACTERS + 1), {}, strict=True)


def test_a_program_in_braces_is_left_alone() -> None:
    text = "sh -c 'nvidia-smi | awk \"{print $1}\"' && x {port}"
    assert fill(text, VALUES, strict=False).text == text.replace("{port}", "8000")


@settings(max_examples=300)
@given(data=_JSON, names=st.lists(NAMES, max_size=3))
def test_json_comes_out_whole_in_either_dialect(data: object, names: list[str]) -> None:
    text = json.dumps(data)
    rest = "".join(f" --{name} {{{name}}}" for name in names)
    wanted = f"x '{text}'" + "".join(f" --{name} {VALUES[name]}" for name in names)
    escaped = text.replace("{", "{{").replace("}", "}}")
    assert fill(f"x '{escaped}'{rest}", VALUES, strict=True).text == wanted
    assert fill(f"x '{text}'{rest}", VALUES, strict=False).text == wanted
    assert f"x '{escaped}'{rest}".format(**VALUES) == wanted
