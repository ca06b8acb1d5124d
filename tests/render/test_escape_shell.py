"""What shells make of an encoded value."""

from __future__ import annotations

import json
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkiac.render.escape import environment_file, json_argument, shell_word
from tests.render.hostile import (
    SPECULATIVE_CONFIG,
    by_name,
    corpus,
    different,
    texts,
)

SHELLS = pytest.mark.parametrize("shell", ["sh", "bash"])


def printed(shell: str, script: str) -> list[str]:
    """Run a script and return what it printed, each value ended by NUL."""
    environment = {"PATH": "/usr/bin:/bin", "FOO": "expanded", "SP": "a b", "LC_ALL": "C.UTF-8"}
    done = subprocess.run([shell], input=script.encode(), capture_output=True, check=True, env=environment)
    assert done.stderr == b""
    return done.stdout.decode().split("\0")[:-1]


def words(shell: str, strings: list[str] | tuple[str, ...]) -> list[str]:
    return printed(shell, f"printf '%s\\0' {' '.join(shell_word(string) for string in strings)}\n")


@SHELLS
def test_shells_read_each_word_as_it_was(shell: str) -> None:
    assert different(corpus(6), words(shell, corpus(6))) == []


@SHELLS
@settings(max_examples=20)
@given(strings=st.lists(texts(), min_size=1, max_size=60))
def test_shells_read_any_words_as_they_were(shell: str, strings: list[str]) -> None:
    assert words(shell, strings) == strings


@SHELLS
def test_shells_read_an_environment_file_as_systemd_does(shell: str) -> None:
    strings = by_name(corpus(7))
    lines = [environment_file(name, value) for name, value in strings.items()]
    lines += [f"printf '%s\\0' \"${name}\"" for name in strings]
    assert different(list(strings.values()), printed(shell, "\n".join(lines) + "\n")) == []


@SHELLS
def test_c19_shells_hand_over_json(shell: str) -> None:
    values = [
        SPECULATIVE_CONFIG,
        *({"text": string, string[:99]: [string]} for string in corpus(8) if len(string) < 9_999),
    ]
    read = words(shell, [json_argument(value) for value in values])
    assert [json.loads(word) for word in read] == values


@SHELLS
def test_c22_c23_shells_read_emoji_and_a_last_backslash(shell: str) -> None:
    assert words(shell, ["👩‍💻", "\\", "é😀\\"]) == ["👩‍💻", "\\", "é😀\\"]
