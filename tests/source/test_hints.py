"""Hints name the closest word, or what there is."""

from __future__ import annotations

import pytest

from sparkiac.report.hints import closest, nearest, slip_of


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


def test_of_many_names_none_is_guessed() -> None:
    many = [*map(str, range(20)), "log_file"]
    assert nearest("filelog", many) == "none of the 21 known names is similar"
    family = [f"LCK{number:03}" for number in range(10, 32) if number != 19]
    assert nearest("LCK99", family) == "none of the 21 known names is similar"


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("gpu_memory_utilisation", "gpu_memory_utilization", True),
        ("qwen3_codr", "qwen3_coder", True),
        ("MARLINN", "marlin", True),
        ("hsots", "hosts", True),
        ("hossst", "hosts", True),
        ("hossst", "hose", False),
        ("max_nmu_sesq", "max_num_seqs", True),
        ("max_model_length", "max_model_len", False),
        ("gpu_memory_utilization_gb", "gpu_memory_utilization", False),
        ("tp", "pp", False),
        ("fp", "fp8", False),
        ("fp4", "fp8", True),
        ("hoses", "hosts", True),
        ("horse", "hosts", False),
        ("", "a", False),
    ],
)
def test_a_slip_is_one_letter_or_two_of_a_long_word(word: str, known: str, *, meant: bool) -> None:
    assert slip_of(word, ["unlike", known]) == (known if meant else None)
