"""`sparkiac check`: which findings are asked for, and which of them fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac import rules
from sparkiac.report import Severity
from sparkiac.rules.pages import pages
from sparkiac.rules.rule import Hit, Rule
from tests.plan.fleets import service
from tests.rules.test_check import saying

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

HIT = Hit(("name",), "wrong", "mend it")


def rule(code: str, severity: Severity, *, waivable: bool = True, profile: str = "") -> rules.Check:
    """Make a rule that finds one thing in every inventory."""
    made = Rule(code, f"is-{code.lower()}", severity, (), "0.1.0", waivable=waivable, profile=profile)
    module = saying(HIT, rule=made)
    return module._replace(page=lambda: "It is wrong.\n\nIt would break.\n")


RULES = (
    rule("AAA001", Severity.ERROR),
    rule("AAA002", Severity.WARNING),
    rule("AAB001", Severity.INFO),
    rule("AAB002", Severity.ERROR, profile="strict"),
    rule("AAC001", Severity.ERROR, waivable=False),
)
ALWAYS = "AAC001"


@pytest.fixture(autouse=True)
def _rules(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[None]:
    """Put a rule of each kind in the place of the real ones."""
    monkeypatch.setattr(rules, "checks", lambda: RULES)
    pages.cache_clear()
    (folder / "lab.yaml").write_text(service())
    yield
    pages.cache_clear()


def told(outcome: Outcome) -> list[str]:
    """Return the codes that were printed."""
    return [line.split()[2] for line in outcome.err.splitlines() if " is-" in line]


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ([], ["AAA001", "AAA002", ALWAYS]),
        (["--profile", "recommended"], ["AAA001", "AAA002", ALWAYS]),
        (["--profile", "minimal"], ["AAA001", ALWAYS]),
        (["--profile", "strict"], ["AAA001", "AAA002", "AAB001", "AAB002", ALWAYS]),
        (["--select", "AAB"], ["AAB001", "AAB002", ALWAYS]),
        (["--select", "AAB001,aaa002"], ["AAA002", "AAB001", ALWAYS]),
        (["--select", " AAA , AAB002 "], ["AAA001", "AAA002", "AAB002", ALWAYS]),
        (["--select", "AAA", "--ignore", "AAA001"], ["AAA002", ALWAYS]),
        (["--ignore", "AAA"], [ALWAYS]),
        (["--ignore", "AAA002,WVR"], ["AAA001", ALWAYS]),
        (["--profile", "strict", "--ignore", "AAB"], ["AAA001", "AAA002", ALWAYS]),
    ],
)
def test_only_selected_rules_are_shown(cli: Cli, options: list[str], codes: list[str]) -> None:
    outcome = cli("check", "lab.yaml", *options)
    assert (outcome.code, told(outcome)) == (1, codes)


@pytest.mark.parametrize("command", ["plan", "generate"])
def test_the_other_commands_use_the_recommended_profile(cli: Cli, command: str) -> None:
    outcome = cli(command, "lab.yaml")
    assert (outcome.code, told(outcome)) == (1, ["AAA001", "AAA002", ALWAYS])


@pytest.mark.parametrize(
    ("kept", "options", "code"),
    [
        ("AAA002", [], 0),
        ("AAA002", ["--strict"], 1),
        ("AAA002", ["--strict", "--ignore", "AAA002"], 0),
        ("AAA002", ["--strict", "--profile", "minimal"], 0),
        ("AAB001", ["--strict", "--profile", "strict"], 0),
        ("AAA001", [], 1),
    ],
)
def test_strict_makes_warnings_fail_and_nothing_else(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, kept: str, options: list[str], code: int
) -> None:
    monkeypatch.setattr(rules, "checks", lambda: tuple(each for each in RULES if kept == each.rule.code))
    assert cli("check", "lab.yaml", *options).code == code


def test_strict_leaves_bad_input_at_2(cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text("name: no\n")
    assert cli("check", "lab.yaml", "--strict").code == 2


def test_a_waiver_is_used_whatever_is_shown(cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text(service() + "allow: [{code: AAA001, reason: it is right here}]\n")
    assert told(cli("check", "lab.yaml", "--select", "AAB,WVR")) == ["AAB001", "AAB002", ALWAYS]
    assert "WVR001" not in cli("check", "lab.yaml", "--select", "AAB,WVR").err


def test_a_waiver_that_waives_nothing_can_be_ignored(cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text(service() + "allow: [{code: ZZZ001, reason: it is right here}]\n")
    assert "warning WVR001" in cli("check", "lab.yaml").err
    assert "WVR001" not in cli("check", "lab.yaml", "--ignore", "WVR001").err
    assert "WVR001" not in cli("check", "lab.yaml", "--profile", "minimal").err


def test_errors_of_the_file_are_shown_with_any_selection(cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text("name: no\n")
    outcome = cli("check", "lab.yaml", "--select", "AAB001")
    assert outcome.code == 2
    assert "error YML007" in outcome.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--select", "AAA003"], "unknown rule 'AAA003'; did you mean 'AAA002'?"),
        (["--ignore", "AAX"], "unknown rule 'AAX'; did you mean 'AAC'?"),
        (["--select", "AA"], "unknown rule 'AA'"),
        (["--select", ""], "'' is not a list of codes such as ENT001,SPD"),
        (["--ignore", "AAA001,"], "'AAA001,' is not a list of codes such as ENT001,SPD"),
        (["--ignore", ALWAYS], "these errors cannot be waived or ignored: AAC001"),
        (["--ignore", "AAC"], "these errors cannot be waived or ignored: AAC001"),
        (["--ignore", "INV"], "these errors cannot be waived or ignored: INV001, INV002, INV003"),
        (["--profile", "strickt"], "unknown profile 'strickt'; did you mean 'strict'?"),
        (["--profile", "strict", "--select", "AAA"], "--select and --profile exclude each other; remove --profile"),
    ],
)
def test_exit_2_for_words_that_choose_nothing(cli: Cli, options: list[str], says: str) -> None:
    outcome = cli("check", "lab.yaml", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err
