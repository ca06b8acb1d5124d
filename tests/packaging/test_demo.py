"""`make demo`: what a newcomer runs first."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.conftest import ROOT

ANSWERS: Final = ["--host", "spark-01=192.168.1.11", "--recipe", "redhatai/qwen3.6-35b-a3b-nvfp4"]
"""What `init` prompts for on a terminal."""


def _prepared(folder: Path) -> list[str]:
    """Copy what the demo reads to a folder; return the command that runs it there."""
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "inventories", folder / "inventories")
    (folder / "installed").touch()
    return ["make", "demo", f"BIN={Path(sys.executable).parent}", "INSTALLED=installed"]


def test_the_demo_generates_each_time_and_ends_with_0(tmp_path: Path) -> None:
    command = _prepared(tmp_path)
    for _ in range(2):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "+ .demo/lab/PLAN.md\n" in done.stdout
        assert "0 changed, 0 removed, 0 as before\n" in done.stdout
        assert "examples or missing" not in done.stderr
    assert (tmp_path / ".demo/lab/site.yml").is_file()
    (tmp_path / ".demo/lab/PLAN.md").write_text("changed by hand")
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / ".demo/lab/PLAN.md").read_text().startswith("# ")


def test_the_demo_ends_with_commands_that_work(tmp_path: Path) -> None:
    done = subprocess.run(_prepared(tmp_path), cwd=tmp_path, capture_output=True, text=True, check=True)
    _, _, end = done.stdout.partition("\nWhat next:\n")
    commands = [line.split() for line in end.splitlines() if line.startswith("  ") and line[2] != " "]
    assert [words[1] for words in commands] == [".demo/lab/PLAN.md", "diff", "recipes", "init"]
    assert (tmp_path / commands[0][1]).is_file()
    commands[-1] += ANSWERS
    for words in commands[1:]:
        ran = subprocess.run(words, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
