"""`sparkiac docs`: the pages, printed or in a pager."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest

from sparkiac.cli import cli as root
from sparkiac.commands.inputs import Exit
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

PAGES = {path.relative_to(ROOT / "docs").with_suffix("").as_posix(): path for path in (ROOT / "docs").rglob("*.md")}


def test_without_a_page_it_lists_all_with_their_titles(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    outcome = cli("docs")
    listed = dict(line.split(maxsplit=1) for line in outcome.out.splitlines())
    assert outcome.code == 0
    assert listed == {name: path.read_text().splitlines()[0].removeprefix("# ") for name, path in PAGES.items()}


@pytest.mark.parametrize("page", PAGES)
def test_without_a_terminal_a_page_is_its_markdown(cli: Cli, page: str) -> None:
    outcome = cli("docs", page)
    assert (outcome.code, outcome.out, outcome.err) == (0, PAGES[page].read_text(), "")


def test_the_name_of_its_file_is_a_page_too(cli: Cli) -> None:
    assert cli("docs", "lock.md").out == PAGES["lock"].read_text()


def test_a_task_is_a_word_after_the_list_of_tasks(cli: Cli) -> None:
    assert cli("docs", "tasks").out == PAGES["tasks"].read_text()
    assert cli("docs", "tasks", "go-back").out == PAGES["tasks/go-back"].read_text()
    assert "did you mean 'tasks/go-back'" in cli("docs", "tasks", "go-bakc").err


@pytest.mark.parametrize(
    ("page", "nearest"), [("aply", "'apply'"), ("Monitoring", "'monitoring'"), ("lokc", "'lock'"), ("", "'")]
)
def test_exit_2_for_an_unknown_page_with_the_nearest_one(cli: Cli, page: str, nearest: str) -> None:
    outcome = cli("docs", page)
    assert (outcome.code, outcome.out) == (2, "")
    assert f"unknown page '{page}'; " in outcome.err
    assert nearest in outcome.err.partition(";")[2]


def test_on_a_terminal_a_page_is_set_and_goes_to_the_pager(tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\ncat > paged\n")
    pager.chmod(0o755)
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "sparkiac", "docs", "turns"],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "TERM": "xterm-256color", "COLUMNS": "90", "PAGER": str(pager)},
            stdin=theirs,
            stdout=theirs,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    paged = (tmp_path / "paged").read_text()
    source = PAGES["turns"].read_text()
    assert done.returncode == 0
    assert source.splitlines()[0].removeprefix("# ") in paged
    assert "```" in source
    assert "```" not in paged


def _commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None
            yield f"{name} {each}", below
            yield from _commands(below, f"{name} {each}")


def test_the_manual_page_has_every_command_with_its_options_and_every_exit_code(cli: Cli) -> None:
    outcome = cli("docs", "--man")
    page = outcome.out.replace("\\-", "-")
    _, *parts = re.split(r"^\.SS \\fB(.+?)\\fR", page, flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    commands = dict(_commands(root, "sparkiac"))
    assert (outcome.code, outcome.err) == (0, "")
    assert list(sections) == list(commands)
    for name, command in commands.items():
        for each in command.params:
            if isinstance(each, click.Option) and not each.hidden:
                assert f"\n.TP\n\\fB{', '.join(each.opts)}" in sections[name]
    codes = re.findall(r"^\\fB(\d+)\\fR\n\w", page.partition(".SH EXIT STATUS")[2], re.MULTILINE)
    assert [int(code) for code in codes] == [int(each) for each in Exit]


def test_the_manual_page_is_ascii_with_macros_of_man_alone(cli: Cli) -> None:
    page = cli("docs", "--man").out
    assert page.isascii()
    assert {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))} == {
        *(".TH", ".SH", ".SS", ".PP", ".TP", ".nf", ".fi")
    }
    assert set(re.findall(r"\\.", page)) <= {"\\f", "\\-", "\\e", "\\&", "\\["}


def test_exit_2_for_the_manual_page_of_a_page(cli: Cli) -> None:
    outcome = cli("docs", "apply", "--man")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--man prints the manual page; remove PAGE" in outcome.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_for_a_shell_on_the_page_of_the_installation_prints_its_completion(shell: str) -> None:
    assert f"_SPARKIAC_COMPLETE={shell}_source sparkiac" in PAGES["install"].read_text()
    environment = {"PATH": os.environ["PATH"], "_SPARKIAC_COMPLETE": f"{shell}_complete"}
    words = {"COMP_WORDS": "sparkiac gen", "COMP_CWORD": "gen" if shell == "fish" else "1"}
    program = [sys.executable, "-c", "from sparkiac.__main__ import main; main()"]
    done = subprocess.run(program, env=environment | words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "generate" in done.stdout
    assert "check" not in done.stdout.split()
