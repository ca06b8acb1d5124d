"""An unquoted word is taken only where readers of YAML 1.1 and 1.2 agree on it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import yaml
from ruamel.yaml import YAML

from sparkiac.source.text import Ambiguous, resolve

_CORE = YAML(typ="safe", pure=True)
_OLD = yaml.SafeLoader("")
_RESOLVER = yaml.resolver.Resolver


def old(word: str) -> Any:  # noqa: ANN401  any plain value
    """Read a word as YAML 1.1, as PyYAML does."""
    tag = _OLD.resolve(yaml.ScalarNode, word, (True, False))
    return _OLD.construct_object(yaml.ScalarNode(tag, word), deep=True)


def new(word: str) -> Any:  # noqa: ANN401
    """Read a word as YAML 1.2, as ruamel.yaml does."""
    return _CORE.load(f"[{word}]")[0]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("", None), ("null", None), ("Null", None), ("NULL", None), ("true", True), ("FALSE", False), ("0", 0),
        ("-1", -1), ("+1", 1), ("8001", 8001), ("1.5", 1.5), ("-1.5", -1.5), ("0.90", 0.9), (".5", 0.5), ("5.", 5.0),
        ("1.5e+3", 1500.0), ("999999999999999999", 999999999999999999), ("lab", "lab"), ("1.2.3", "1.2.3"),
        ("192.168.1.11", "192.168.1.11"), ("580.142.1", "580.142.1"), ("-rf", "-rf"), ("none", "none"),
        ("nUll", "nUll"), ("2026", 2026), ("1:99", "1:99"), ("...", "..."), ("30d", "30d"), ("<<<", "<<<"),
    ],
)  # fmt: skip
def test_plain_words(word: str, value: object) -> None:
    found = resolve(word)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("no", "a boolean to some"), ("Off", "a boolean to some"), ("Y", "a boolean to some"),
        ("~", "null to some YAML parsers"), ("=", "a special value"), ("<<", "merge key"),
        ("010", "octal"), ("08", "octal"), ("0o17", "octal"), ("-012", "octal"), ("0x1F", "another base"),
        ("0b1", "another base"),
        ("1_000", "a number to some"), ("1e3", "a number to some"), ("1234567e12", "a number to some"),
        (".5e3", "a number to some"), ("-.5", "a number to some"), ("01.5", "a number to some"),
        ("1.5_0", "a number to some"), ("22:22", "base-60"), ("1_0:30", "base-60"), ("12:30:00", "base-60"),
        (".inf", "not a number"), ("-.INF", "not a number"), (".NaN", "not a number"), ("2026-01-01", "a date"),
        ("2026-1-1T00:00:00Z", "a date"),
        ("9" * 19, "19 digits; YAML parsers agree on at most 18"),
        ("9" * 5000, "a number of 5000 digits"), ("1.0e+400", "too large"), ("9" * 400 + ".", "too large"),
    ],
)  # fmt: skip
def test_traps(word: str, reason: str) -> None:
    with pytest.raises(Ambiguous, match=reason):
        resolve(word)


@pytest.mark.parametrize(("alphabet", "length"), [("01.-+e", 6), ("07_:.xobE-", 4), ("yesnoYNfalt", 3), ("~=<null", 4)])
def test_what_is_taken_means_the_same_in_yaml_1_1(alphabet: str, length: int) -> None:
    for size in range(1, length + 1):
        for word in map("".join, product(alphabet, repeat=size)):
            try:
                value = resolve(word)
            except Ambiguous:
                continue
            read = old(word)
            assert (type(value), value) == (type(read), read), word


def test_what_is_taken_means_the_same_in_yaml_1_2() -> None:
    for word in map("".join, product("01.-+e_xo", repeat=4)):
        try:
            value = resolve(word)
        except Ambiguous:
            continue
        if any(map(str.isdigit, word)) and not word.startswith("---"):
            read = new(word)
            assert (type(value), value) == (type(read), read), word
