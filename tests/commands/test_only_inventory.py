"""Commands without an inventory: they take the only one in the folder `inventories`, and say which."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from tests.plan.fleets import LOCK, deployment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

TAKEN: Final = "inventory: inventories/lab.yaml\n"
PLACE: Final = ("inventories/lab.yaml",)


@pytest.fixture
def only(folder: Path) -> Path:
    """Run the test in a repository with one inventory."""
    (folder / "inventories").mkdir()
    (folder / "inventories/lab.yaml").write_text(deployment())
    (folder / "inventories/lab.lock.yaml").write_text(LOCK)
    return folder


@pytest.mark.usefixtures("only")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["check"], []),
        (["plan"], ["--format", "json"]),
        (["lock"], ["--check"]),
        (["generate"], ["--check"]),
        (["export"], ["qwen36", "--as", "compose"]),
        (["status"], ["spark-09", "spark-01"]),
        (["verify"], ["qwen35"]),
        (["logs"], ["spark-09"]),
        (["report"], ["spark-09"]),
        (["memory"], ["qwen35", "--from-log", "inventories/lab.yaml"]),
        (["restart"], ["qwen36", "spark-09", "--yes"]),
        (["turn"], ["evening", "--yes"]),
        (["apply"], ["--yes"]),
        (["uninstall"], ["--yes", "spark-09"]),
        (["bench"], ["qwen35", "sweep"]),
        (["bench", "tune"], ["qwen35"]),
        (["diff", "--git", "HEAD"], []),
    ],
)
def test_the_only_inventory_is_taken_and_named(cli: Cli, before: list[str], after: list[str]) -> None:
    without, named = cli(*before, *after), cli(*before, *PLACE, *after)
    assert without == replace(named, err=TAKEN + named.err)


@pytest.mark.usefixtures("only")
@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["add", "nvidia/nemotron-3-nano-4b-fp8", "--on", "spark-09"], "--to"),
        (["remove", "qwen35"], "--from"),
        (["diagnose", "--deployment", "qwen35"], "--inventory"),
    ],
)
def test_an_option_defaults_to_the_only_inventory(cli: Cli, command: list[str], option: str) -> None:
    without, named = cli(*command), cli(*command, option, *PLACE)
    assert without == replace(named, err=TAKEN + named.err)


@pytest.mark.parametrize("command", [["check"], ["verify", "qwen36"], ["uninstall", "--yes"], ["remove", "qwen36"]])
def test_several_inventories_are_named(cli: Cli, only: Path, command: list[str]) -> None:
    (only / "inventories/attic.yml").write_text(deployment())
    outcome = cli(*command)
    assert (outcome.code, outcome.out) == (2, "")
    assert "name one of the inventories: inventories/attic.yml, inventories/lab.yaml\n" in outcome.err
    assert TAKEN not in outcome.err


@pytest.mark.usefixtures("folder")
def test_without_an_inventory_the_error_names_the_folder(cli: Cli) -> None:
    assert "name an inventory file; the directory inventories has none" in cli("apply", "--yes").err


@pytest.mark.usefixtures("only")
@pytest.mark.parametrize("words", [["gone.yaml"], ["gone.yaml", "qwen36"], ["inventories/lba.yaml"]])
def test_a_path_is_never_taken_for_a_name(cli: Cli, words: list[str]) -> None:
    outcome = cli("verify", *words)
    assert outcome.code == 2
    assert f"{words[0]} does not exist; name an inventory file" in outcome.err


@pytest.mark.usefixtures("only")
def test_the_first_of_two_words_is_the_inventory_where_one_name_follows(cli: Cli) -> None:
    assert "gone does not exist; name an inventory file" in cli("export", "gone", "qwen36", "--as", "compose").err


@pytest.mark.usefixtures("only")
def test_completion_prints_nothing_else(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_SPARKIAC_COMPLETE": "bash_complete", "COMP_WORDS": "sparkiac status spark-01 sp"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COMP_CWORD", "3")
    outcome = cli()
    assert (outcome.out, outcome.err) == ("plain,spark-01\n", "")
