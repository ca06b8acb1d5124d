"""Nothing foreign that is shown makes a terminal obey, and nothing of it starts a line of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.report import Finding, Loc, Mark, Report, Severity, characters
from sparkiac.words import annotations, findings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOSTILE: Final = "\x1b]0;pwn\x07\x1b[2J\u202e\x9b1m\u200f\r\n::error::pwn"
OBEYED: Final = {"\x1b", "\x07", "\x9b", "\u202e", "\u200f", "\r"}


def report() -> Report:
    """Return a finding of which every part is hostile."""
    loc = Loc(f"a{HOSTILE}.yaml", Mark(1, 10, 1, 12), f"é\x1b[2J    x: {HOSTILE}")
    return Report.of([Finding("IMP001", "unreadable", Severity.ERROR, HOSTILE, loc, HOSTILE, HOSTILE)])


def test_what_a_terminal_obeys_becomes_an_escape() -> None:
    assert characters.escaped("a\x1b[2J\u202e\x07\x9b\u200eé\tb\n中") == "a\\x1b[2J\\u202e\\x07\\x9b\\u200eé\tb\n中"
    assert characters.escaped("\udc80\U0001fffe") == "\\udc80\\U0001fffe"
    assert characters.escaped_line("a\nb") == "a\\nb"


def test_no_refused_character_is_printable() -> None:
    """Rendering searches only texts that are not printable for refused characters."""
    refused = re.compile(f"[{characters.REFUSED}\r]")
    assert [each for each in map(chr, range(0x110000)) if refused.match(each) and each.isprintable()] == []


@pytest.mark.parametrize(
    "written",
    [
        lambda given: findings.as_text(given, colour=False),
        lambda given: annotations.commands(given, file=HOSTILE),
        lambda given: str(annotations.sarif(given, file="a")["runs"][0]["results"][0]["message"]["text"]),
        lambda given: findings.as_data(given)["findings"][0]["message"],
    ],
)
def test_no_format_of_findings_lets_it_through(written: Callable[[Report], str]) -> None:
    text = written(report())
    assert not OBEYED & {*text}
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::error::")]


def test_the_caret_stands_below_its_place() -> None:
    line, caret = findings.as_text(report(), colour=False).splitlines()[1:3]
    assert line[caret.index("^") :].startswith("x:")


def test_a_refused_line_of_an_import_is_shown_with_escapes(sparkiac: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(f"docker run a/b:1 vllm serve {HOSTILE}")
    done = sparkiac("import", tmp_path / "run.sh")
    assert done.code == 2
    assert "\\x1b]0;pwn\\x07\\x1b[2J\\u202e" in done.text
    assert not OBEYED & {*done.text}


def test_notes_of_an_import_are_shown_with_escapes(sparkiac: Callable[..., Any], tmp_path: Path) -> None:
    text = 'services: {a: {image: "a/b:1", command: "vllm serve a/b", "x\\u202e\\e[2J": 1, labels: ["k=\\e]0;pwn\\a"]}}'
    (tmp_path / "compose.yaml").write_text(text)
    done = sparkiac("import", tmp_path / "compose.yaml")
    assert not OBEYED & {*done.text}


def test_a_refused_line_of_an_inventory_is_shown_with_escapes(sparkiac: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("name: \x1b[2Jlab\u202e\n")
    done = sparkiac("check", tmp_path / "lab.yaml")
    assert "name: \\x1b[2Jlab\\u202e" in done.text
    assert not OBEYED & {*done.text}
