"""What the scripts are written in: they run on hosts that have older tools than we have."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.host.conftest import ROOT, SCRIPTS

if TYPE_CHECKING:
    from pathlib import Path

OLDEST_PYTHON = (3, 8)
PROGRAMS = ("fleet_check", "group", "host_metrics", "load_memory", "network", "preflight", "stage", "status", "switch")
PROGRAMS += ("probe.py",)
OF = ("fleet", "group", "metrics", "preflight", "probe", "ray", "stage", "status", "switch", "units")
"""What the names of their modules begin with."""
SHARED = ("contract.py", "durable.py", "peers.py")
PARTS = sorted(each.name for each in SCRIPTS.glob("*.py") if each.name not in PROGRAMS)
PYTHON_SCRIPTS = [*PROGRAMS, *PARTS]


@pytest.mark.parametrize("name", PYTHON_SCRIPTS)
def test_they_parse_on_an_old_python(scripts: Path, name: str) -> None:
    ast.parse((scripts / name).read_text(), feature_version=OLDEST_PYTHON)


@pytest.mark.parametrize("name", PYTHON_SCRIPTS)
def test_they_need_the_standard_library_only(scripts: Path, name: str) -> None:
    imports = {
        module.split(".")[0]
        for node in ast.walk(ast.parse((scripts / name).read_text()))
        for module in ([alias.name for alias in getattr(node, "names", [])] if isinstance(node, ast.Import) else [])
        + ([node.module or ""] if isinstance(node, ast.ImportFrom) else [])
    }
    assert imports <= sys.stdlib_module_names | {part.removesuffix(".py") for part in PARTS}


@pytest.mark.parametrize("name", PYTHON_SCRIPTS)
def test_ruff(scripts: Path, name: str) -> None:
    # `ruff check .` looks at *.py alone, and preflight has no suffix.
    for command in (["check"], ["format", "--check"]):
        argv = [sys.executable, "-m", "ruff", *command, scripts / name]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", [*PYTHON_SCRIPTS, "supervise"])
def test_they_are_short_and_programs_are_executable(scripts: Path, name: str) -> None:
    assert (scripts / name).stat().st_mode & 0o111 == (0 if name in PARTS else 0o111)
    assert (scripts / name).read_text().startswith("#!") is (name not in PARTS)
    assert len((scripts / name).read_text().splitlines()) <= 300


def test_shellcheck(scripts: Path) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(["shellcheck", scripts / "supervise"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_nothing_else_is_shipped(scripts: Path) -> None:
    assert {path.name for path in scripts.iterdir()} == {*PYTHON_SCRIPTS, "supervise"}
    assert [name for name in PARTS if name not in SHARED and name.partition("_")[0] not in OF] == []


CHANGING = ("switch", "units")
WALL_CLOCK = {"time", "time_ns", "localtime", "gmtime", "ctime", "strftime", "now", "utcnow", "st_mtime", "st_ctime"}
NAMED = {"switch_start.py": {"gmtime", "strftime"}}
"""The timers of a group's hosts start a turn in the same minute, which names their run; nothing waits for it."""


@pytest.mark.parametrize("name", [name for name in PYTHON_SCRIPTS if name.partition("_")[0] in CHANGING])
def test_a_switch_does_not_read_the_wall_clock(scripts: Path, name: str) -> None:
    """A clock that is wrong or is set meanwhile changes nothing: waits use the monotonic clock, files their hashes."""
    read = {node.attr for node in ast.walk(ast.parse((scripts / name).read_text())) if isinstance(node, ast.Attribute)}
    assert read & WALL_CLOCK == NAMED.get(name, set())


def imported(scripts: Path, program: str) -> set[str]:
    """Return the files of a program: its own and all modules that it imports, at any depth."""
    found, todo = set[str](), [program]
    while todo:
        name = todo.pop()
        found.add(name)
        for node in ast.walk(ast.parse((scripts / name).read_text())):
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            named += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            todo += [f"{each}.py" for each in named if f"{each}.py" in PARTS and f"{each}.py" not in found]
    return found


def test_the_playbooks_send_what_switch_and_stage_import(scripts: Path) -> None:
    """No more, because it is sent for every look, and no less."""
    text = yaml.safe_load((ROOT / "playbooks/vars/main.yml").read_text())["sparkiac_parts"]
    pattern = "".join(re.findall(r"'([^']*)'", text.partition("'search',")[2]))
    sent = {name for name in [*PYTHON_SCRIPTS, "supervise"] if re.search(pattern, f"usr/local/lib/sparkiac/{name}")}
    assert sent == imported(scripts, "switch") | imported(scripts, "stage")
