"""`make demo`: what a newcomer runs first."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

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


def test_a_python_without_ensurepip_ends_with_the_package_to_install(tmp_path: Path) -> None:
    """Debian's Python has no ensurepip without python3-venv."""
    command = _prepared(tmp_path)[:2]
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/ensurepip.py").write_text("raise ImportError")
    hidden = os.environ | {"PYTHONPATH": str(tmp_path / "hidden")}
    done = subprocess.run(
        [*command, f"PYTHON={sys.executable}"], cwd=tmp_path, env=hidden, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    said, *_ = done.stderr.splitlines()
    assert said.endswith("install its venv module (Debian, Ubuntu: sudo apt install python3-venv)")
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("Python 3.11.7", "skipped: SYSTEM is Python 3.11.7, which runs all tests\n"),
        ("Python 3.10.12", "skipped: needs Python 3.11 or newer, SYSTEM: Python 3.10.12\n"),
        ("Python 3.9.2", "skipped: needs Python 3.11 or newer, SYSTEM: Python 3.9.2\n"),
        ("not found", "skipped: needs Python 3.11 or newer, SYSTEM: not found\n"),
        ("Python 3.11.2", "SYSTEM -m venv --clear .venv/system\n"),
        ("Python 3.12.3", "SYSTEM -m venv --clear .venv/system\n"),
        ("Python 3.12.3", ".venv/system/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m"),
        ("Python 3.12.3", "tests/source tests/write tests/catalog/test_symptoms.py"),
    ],
)
def test_the_systems_python_runs_the_tests_if_it_is_another_version(tmp_path: Path, version: str, told: str) -> None:
    """With -n, make prints what it would run."""
    _prepared(tmp_path)
    for program, answer in ((".venv/bin/python", "Python 3.11.7"), ("system", version)):
        path = tmp_path / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {answer}\n")
        path.chmod(0o755)
    (tmp_path / ".venv/.installed").touch()
    system = str(tmp_path / "system")
    done = subprocess.run(
        ["make", "-n", "test-system", f"SYSTEM_PYTHON={system}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told in done.stdout.replace(system, "SYSTEM").replace("\\\n", "")
