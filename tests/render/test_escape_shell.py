"""What shells make of an encoded value."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkiac.plan.parts import Export
from sparkiac.render.compose import export_lines
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
@settings(max_examples=20)
@given(strings=st.lists(texts().filter(lambda text: text.strip("\n") != ""), min_size=1, max_size=4))
def test_shells_export_secrets_byte_for_byte(
    shell: str, strings: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A variable has the bytes of its secrets, line ends at the end too."""
    folder = tmp_path_factory.mktemp("secrets")
    files = {f"it's {number}": str(folder / f"it's {number}") for number, _ in enumerate(strings)}
    for file, string in zip(files.values(), strings, strict=True):
        Path(file).write_bytes(string.encode())
    first, *_ = files
    lines = [
        "set -eu",
        *export_lines(Export("ALL", (*files, None)), files),
        *export_lines(Export("ONE", (first,)), files),
    ]
    script = "; ".join([*lines, 'printf "%s\\0" "$ALL" "$ONE"'])
    assert printed(shell, script) == [";".join([*strings, "none"]), strings[0]]


@SHELLS
@pytest.mark.parametrize("content", [None, b"", b"\n"])
def test_shells_do_not_go_on_without_a_secret(shell: str, content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    script = "; ".join(["set -eu", *export_lines(Export("ONE", ("secret",)), {"secret": str(file)}), "echo started"])
    done = subprocess.run([shell, "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")


@SHELLS
def test_shells_hand_over_json(shell: str) -> None:
    values = [
        SPECULATIVE_CONFIG,
        *({"text": string, string[:99]: [string]} for string in corpus(8) if len(string) < 9_999),
    ]
    read = words(shell, [json_argument(value) for value in values])
    assert [json.loads(word) for word in read] == values


@SHELLS
def test_shells_read_emoji_and_a_last_backslash(shell: str) -> None:
    assert words(shell, ["👩‍💻", "\\", "é😀\\"]) == ["👩‍💻", "\\", "é😀\\"]
