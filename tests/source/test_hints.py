"""Hints name the closest word, or what there is."""

from __future__ import annotations

from sparkiac.report.hints import closest, nearest


def test_a_close_word_is_named() -> None:
    assert nearest("adress", ["address", "driver"]) == "did you mean 'address'?"
    assert closest("wann", ["lan", "wan"]) == "did you mean 'wan'?"


def test_else_the_words_are_listed() -> None:
    assert nearest("zzz", ["b", "a"]) == "known: a, b"
    assert nearest("zzz", map(str, range(12))) == "known: 0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9"
    assert nearest("zzz", []) == ""
    assert closest("zzz", ["a"]) == ""


def test_names_that_hold_the_word_or_a_part_of_it() -> None:
    known = ["nvidia/qwen3.6-35b", "qwen/coder", "google/gemma"]
    assert nearest("qwen", known) == "similar names: nvidia/qwen3.6-35b, qwen/coder"
    assert nearest("qwen3.6/35b-a3b-instruct", known) == "similar names: nvidia/qwen3.6-35b"
    assert nearest("a/b", known) == "known: google/gemma, nvidia/qwen3.6-35b, qwen/coder"


def test_a_number_at_the_end_is_left_out_where_no_name_holds_it() -> None:
    assert nearest("gemma4", ["functiongemma", "hermes"]) == "similar names: functiongemma"


def test_of_many_names_a_likely_one_is_named_or_none() -> None:
    many = [*map(str, range(16)), "log_file"]
    assert nearest("filelog", many) == "the nearest name is 'log_file'"
    assert nearest("qqq", many) == "none of the 17 known names is similar"


def test_of_a_large_family_the_nearest_name_is_given() -> None:
    family = [f"LCK{number:03}" for number in range(10, 29) if number != 19]
    assert nearest("LCK99", family) == "the nearest name is 'LCK028'"
