"""Hints name the closest word, or what there is."""

from __future__ import annotations

from sparkiac.hints import closest, nearest


def test_a_close_word_is_named() -> None:
    assert nearest("adress", ["address", "driver"]) == "did you mean 'address'?"
    assert closest("wann", ["lan", "wan"]) == "did you mean 'wan'?"


def test_else_the_words_are_listed() -> None:
    assert nearest("zzz", ["b", "a"]) == "known: a, b"
    assert nearest("zzz", map(str, range(12))) == "known: 0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9"
    assert nearest("zzz", map(str, range(13))).endswith("8, …")
    assert nearest("zzz", []) == ""
    assert closest("zzz", ["a"]) == ""
