"""`sparkiac turn` with the real Ansible, on hosts that are this machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

from tests.commands import fleet
from tests.commands.fleet import LOCAL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

SMALL: Final = "  small: {recipe: base/single-spark, model: example/model, hosts: spark-02, port: 8001}\n"
TURNS: Final = fleet.INVENTORY + SMALL + "turns: {day: [chat], night: [small]}\n"
SWITCHED: Final = """echo '{"outcome": "committed", "changed": true, "generation": "a", "turn": "night"}'"""
BACK: Final = """echo '{"outcome": "back", "changed": true, "generation": "a", "turn": "night"}'; exit 1"""


@pytest.fixture
def root(folder: Path, hosts: Path, cli: Cli) -> Path:
    """Run the test in a folder with a generated fleet of two hosts; return the folder of the hosts' answers."""
    fleet.write(folder)
    (folder / "lab.yaml").write_text(TURNS)
    outcome = cli("generate", "lab.yaml")
    assert outcome.code == 0, outcome.text
    for host in ("spark-01", "spark-02"):
        fleet.answers(hosts, host, "services", SWITCHED)
    return hosts


@pytest.mark.usefixtures("root")
def test_it_switches_and_reports(cli: Cli) -> None:
    outcome = cli("turn", "lab.yaml", "night", "--yes", "--", *LOCAL)
    assert outcome.code == 0, outcome.text
    assert "\nSwitched 2 hosts to the turn night in " in outcome.out
    assert [line.split()[-2:] for line in outcome.err.splitlines() if "done" in line] == [
        ["spark-01", "done"],
        ["spark-02", "done"],
    ]


def test_a_turn_that_fails_is_a_finding_with_its_reason(root: Path, cli: Cli) -> None:
    fleet.answers(root, "spark-02", "services", BACK)
    outcome = cli("turn", "lab.yaml", "night", "--yes", "--format", "json", "--", *LOCAL)
    assert outcome.code == 1
    found = json.loads(outcome.out)
    assert found["applied"]["outcomes"]["spark-02"].startswith("FAILED")
    assert any("spark-02" in reason for reason in found["reasons"])


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["noon", "--yes"], "unknown turn 'noon'; "),
        (["night"], "a confirmation needs a terminal: add --yes; --check only shows"),
        (["night", "--limit", "spark-01"], "Options of ansible-playbook go after --"),
    ],
)
def test_wrong_usage(cli: Cli, words: list[str], message: str) -> None:
    outcome = cli("turn", "lab.yaml", *words)
    assert outcome.code == 2
    assert message in outcome.err


@pytest.mark.usefixtures("root")
def test_an_inventory_without_turns(folder: Path, cli: Cli) -> None:
    (folder / "lab.yaml").write_text(fleet.INVENTORY)
    assert cli("generate", "lab.yaml").code == 0
    outcome = cli("turn", "lab.yaml", "night", "--yes")
    assert (outcome.code, "unknown turn 'night'; there is no turn" in outcome.err) == (2, True), outcome.err


@pytest.mark.usefixtures("root")
def test_an_old_directory_is_refused(folder: Path, cli: Cli) -> None:
    (folder / "lab.yaml").write_text(TURNS.replace("night:", "evening:"))
    outcome = cli("turn", "lab.yaml", "evening", "--yes", "--", *LOCAL)
    assert outcome.code == 3
    assert "generated/lab is out of date" in outcome.err
