"""`sparkiac docs`: the pages, printed or in a pager."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.commands.conftest import Cli

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


@pytest.mark.parametrize(
    ("page", "nearest"), [("aply", "'apply'"), ("Monitoring", "'monitoring'"), ("lock.md", "'lock'"), ("", "'")]
)
def test_2_for_an_unknown_page_with_the_nearest_one(cli: Cli, page: str, nearest: str) -> None:
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
