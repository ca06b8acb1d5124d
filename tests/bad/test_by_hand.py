"""Inventories broken by hand, one or two faults each: every fault is one error, in its line, with what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from sparkiac import pipeline
from sparkiac.console import run
from sparkiac.pipeline import InputFile
from sparkiac.report import Finding, Severity

_FILE: Final = yaml.safe_load(Path(__file__).with_name("by_hand.yaml").read_text(encoding="utf-8"))
CASES: Final[list[dict[str, Any]]] = _FILE["cases"]
_NAMES: Final = [case["name"] for case in CASES]
COMMANDS: Final = (
    ("generate", "{}"),
    ("lock", "--check", "{}"),
    ("plan", "{}"),
    ("audit", "{}"),
    ("propose", "{}", "--want", "small: context=8k"),
    ("add", "google/gemma-4-26b-a4b-it-fp8", "--to", "{}", "--on", "spark-a", "--yes"),
)
"""Other commands that read an inventory."""


def _text(case: dict[str, Any]) -> str:
    text: str = case.get("text", _FILE["inventory"])
    for old, new in case.get("edits", {}).items():
        assert old in text
        text = text.replace(old, new, 1)
    return text.replace("\n", "\r\n") if case.get("windows") else text


def _is_at(place: str, finding: Finding) -> bool:
    assert finding.loc is not None
    return place == f"{'L' if finding.loc.file == 'home.lock.yaml' else ''}{finding.loc.mark.line}"


def test_the_unbroken_inventory_has_no_error() -> None:
    outcome = pipeline.check(InputFile("home.yaml", _FILE["inventory"].encode()), None, allow_unlocked=True)
    assert [each for each in outcome.report.findings if each.severity is Severity.ERROR] == []
    assert len(CASES) == len(set(_NAMES)) >= 80


@pytest.mark.parametrize("case", CASES, ids=_NAMES)
def test_each_fault_is_one_error_in_its_line_with_what_to_do(case: dict[str, Any]) -> None:
    lock = InputFile("home.lock.yaml", case["lock"].encode()) if "lock" in case else None
    outcome = pipeline.check(InputFile("home.yaml", _text(case).encode()), lock, allow_unlocked=True)
    errors = [each for each in outcome.report.findings if each.severity is Severity.ERROR]
    assert len(errors) == len(case["faults"]), errors
    for place, words in (fault.split(" ", 1) for fault in case["faults"]):
        assert [each for each in errors if _is_at(place, each) and words in f"{each.message} {each.hint}"], errors


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("case", CASES[::8], ids=_NAMES[::8])
def test_other_commands_say_the_same(
    case: dict[str, Any], command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inventory = tmp_path / "home.yaml"
    inventory.write_bytes(_text(case).encode())
    if "lock" in case:
        inventory.with_name("home.lock.yaml").write_text(case["lock"], encoding="utf-8")
    assert run([word.format(inventory) for word in command]) == 2
    told = capsys.readouterr().err
    assert "Traceback" not in told
    for place, words in (fault.split(" ", 1) for fault in case["faults"]):
        assert f":{place.removeprefix('L')}:" in told
        assert words in told
