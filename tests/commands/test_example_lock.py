"""An example lock is one error, whatever it holds, and so is each pin that contradicts itself: none is applied."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.plan.fleets import LOCK, ONES, TWOS, deployment, service

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

EXAMPLE = LOCK.replace("version: 1\n", "version: 1\nexample: true\n")
ERROR = """\
lab.lock.yaml:2:1: error LCK033 example-lock: this lock is an example with invented digests, commits and hashes
  2 | example: true
    | ^^^^^^^
  hint: run `sparkiac lock lab.yaml`: it replaces all of them
1 error
"""
BANNER = (
    "Cannot be applied: 2 pins are examples or missing. ansible-playbook stops in its first task. "
    "Run `sparkiac lock lab.yaml`, then `sparkiac generate lab.yaml`.\n"
)


@pytest.fixture
def example(lab: Path) -> Path:
    """Run the test in a folder with an inventory and an example lock."""
    (lab / "lab.lock.yaml").write_text(EXAMPLE)
    return lab


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize("options", [[], ["--profile", "minimal"], ["--select", "SPD"], ["--fix"]])
def test_check_refuses_it_with_one_error(cli: Cli, options: list[str]) -> None:
    outcome = cli("check", "lab.yaml", *options)
    assert (outcome.code, outcome.err.removeprefix("lab.yaml: nothing to fix\n")) == (1, ERROR)


@pytest.mark.usefixtures("example")
def test_it_cannot_be_ignored(cli: Cli) -> None:
    outcome = cli("check", "lab.yaml", "--ignore", "LCK033")
    assert outcome.code == 2
    assert "cannot be waived or ignored: LCK033" in outcome.err


@pytest.mark.parametrize("options", [[], ["--fix"]])
def test_check_warns_with_the_flag_of_generate(cli: Cli, example: Path, options: list[str]) -> None:
    outcome = cli("check", "lab.yaml", "--allow-unlocked", *options)
    assert (outcome.code, outcome.err.endswith("1 warning\n")) == (0, True)
    assert cli("check", "lab.yaml", "--allow-unlocked", "--strict").code == 1
    (example / "lab.lock.yaml").unlink()
    outcome = cli("check", "lab.yaml", "--allow-unlocked", *options)
    assert (outcome.code, outcome.err.count("warning IMG003"), outcome.err.count("error")) == (0, 1, 0)
    assert cli("check", "lab.yaml").code == 1


def test_generate_writes_and_says_that_it_cannot_be_applied(cli: Cli, example: Path) -> None:
    outcome = cli("generate", "lab.yaml")
    assert outcome.code == 0
    assert outcome.err.startswith("lab.lock.yaml:2:1: warning LCK033")
    assert outcome.err.endswith(f"1 warning\n{BANNER}")
    assert BANNER.partition(" Run")[0] in (example / "generated/lab/PLAN.md").read_text()
    again = cli("generate", "lab.yaml", "--check")
    assert (again.code, again.err.endswith(BANNER)) == (0, True)
    [finding] = json.loads(cli("generate", "lab.yaml", "--format", "json").out)["findings"]
    assert (finding["code"], finding["severity"]) == ("LCK033", "warning")


def test_the_banner_is_for_unlocked_pins_too(cli: Cli, lab: Path) -> None:
    (lab / "lab.lock.yaml").unlink()
    assert cli("generate", "lab.yaml", "--allow-unlocked").err.endswith(BANNER)
    (lab / "lab.lock.yaml").write_text(LOCK)
    assert "Cannot be applied" not in cli("generate", "lab.yaml").text
    assert "Cannot be applied" not in (lab / "generated/lab/PLAN.md").read_text()


def test_what_an_example_lacks_is_missing(cli: Cli, example: Path) -> None:
    (example / "lab.yaml").write_text(deployment().replace("example/model", "example/other"))
    outcome = cli("generate", "lab.yaml")
    assert outcome.code == 4
    assert "error MDL001" in outcome.err
    assert "lab.lock.yaml does not pin everything: run sparkiac lock lab.yaml" in outcome.err


def test_an_example_is_an_error_also_where_everything_is_pinned_in_the_inventory(cli: Cli, example: Path) -> None:
    (example / "lab.yaml").write_text(service())
    assert cli("check", "lab.yaml").err == ERROR
    outcome = cli("generate", "lab.yaml")
    assert (outcome.code, "Cannot be applied" in outcome.text) == (0, False)


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize("command", [["plan", "lab.yaml"], ["plan", "lab.yaml", "--format", "html"]])
def test_plan_shows_it_and_warns(cli: Cli, command: list[str]) -> None:
    outcome = cli(*command)
    assert outcome.code == 0
    assert "1 warning (LCK033)" in outcome.err
    assert "Cannot be applied: 2 pins are examples or missing." in outcome.out


def test_nothing_is_generated_from_a_lock_that_contradicts_itself(cli: Cli, lab: Path) -> None:
    key = f'  example.org/vllm:1@{ONES}: {{digest: "{TWOS}"}}\n'
    (lab / "lab.lock.yaml").write_text(LOCK.replace("images:\n", f"images:\n{key}"))
    assert "error LCK035" in cli("generate", "lab.yaml", "--allow-unlocked").err
    assert not (lab / "generated").exists()
    assert "error LCK035" in cli("check", "lab.yaml", "--select", "SPD").err
