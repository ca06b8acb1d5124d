"""What the programs are written in: they run on hosts that have older tools than we have."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from sparkiac.host import PROGRAMS
from sparkiac.render.kubernetes import volumes
from sparkiac.report import assets
from tests import pythons
from tests.every import every
from tests.host.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

OLDEST_PYTHON = (3, 10)
"""The oldest Python of a supported host: docs/adr/0024."""
PACKAGE = ROOT / "sparkiac/host"
MODULES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))
NOT_INSTALLED = ("build", "sent")
IMPORT_ALL = """
import importlib, pathlib, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    importlib.import_module("host." + name.removesuffix(".py").replace("/", ".").removesuffix("__init__").rstrip("."))
"""


@every(MODULES)
def test_it_parses_on_the_oldest_python(name: str) -> None:
    ast.parse((PACKAGE / name).read_text(), feature_version=OLDEST_PYTHON)


def test_the_oldest_python_imports_every_module() -> None:
    """Also the names that a module takes from the standard library exist there."""
    python = pythons.interpreter(".".join(map(str, OLDEST_PYTHON)))
    names = [name for name in MODULES if name != "__init__.py"]
    done = subprocess.run(
        [python, "-I", "-W", "error", "-c", IMPORT_ALL, PACKAGE.parent, *names],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("version", ["3.8", "3.9"])
def test_an_older_python_is_refused_in_one_sentence(version: str, scripts: Path) -> None:
    """By the launcher of each program, and by what the playbooks send to a host without programs."""
    python = pythons.interpreter(version)
    for argv in ([scripts / "switch", "status"], ["-c", (ROOT / "playbooks/bundle.py").read_text()]):
        done = subprocess.run([python, *argv], input="", capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert re.fullmatch(rf"Python 3\.10 or newer is needed, this is {version}\.[0-9]+\n", done.stderr)


@every(MODULES)
def test_it_needs_the_standard_library_and_its_own_package_only(name: str) -> None:
    nodes = list(ast.walk(ast.parse((PACKAGE / name).read_text())))
    named = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    named |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0}
    assert {each.split(".")[0] for each in named} <= sys.stdlib_module_names
    levels = [node.level for node in nodes if isinstance(node, ast.ImportFrom)]
    assert max(levels, default=0) <= len(name.split("/")), "it imports from above the folder that hosts have"


def test_every_program_has_its_name_and_starts(scripts: Path) -> None:
    """The launcher stands beside the package, once for each name, and runs `main` of the module."""
    beside = {path.name for path in scripts.iterdir()}
    assert beside == {*PROGRAMS, "host", "supervise"}
    for name, module in PROGRAMS.items():
        text = (PACKAGE / f"{module.replace('.', '/')}.py").read_text()
        assert "\ndef main(argv: list[str]" in text, name
        assert (scripts / name).stat().st_mode & 0o777 == 0o755
        done = subprocess.run([scripts / name, "--no-such-option"], capture_output=True, text=True, check=False)
        assert done.returncode in {1, 2}, name
        assert done.stderr, name
        assert "Traceback" not in done.stderr, name


def test_the_launcher_is_linted() -> None:
    # `ruff check .` looks at *.py alone, and the launcher has no suffix.
    for command in (["check"], ["format", "--check"]):
        argv = [sys.executable, "-m", "ruff", *command, PACKAGE / "launcher"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_shellcheck(scripts: Path) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(["shellcheck", scripts / "supervise"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_only_what_a_host_runs_is_installed(scripts: Path) -> None:
    installed = {str(path.relative_to(scripts / "host")) for path in (scripts / "host").rglob("*") if path.is_file()}
    assert installed == {name for name in MODULES if name.split("/")[0] not in NOT_INSTALLED}
    assert {path.stat().st_mode & 0o777 for path in (scripts / "host").rglob("*.py")} == {0o644}


WALL_CLOCK = {"time", "time_ns", "localtime", "gmtime", "ctime", "strftime", "now", "utcnow", "st_mtime", "st_ctime"}
NAMED = {
    "switch/start.py": {"gmtime", "strftime"},
    "switch/history.py": {"time"},
}
"""The timers of a group's hosts start a turn in the same minute, which names their run; nothing waits for it. The time
in the history is only shown: the order of the entries decides."""


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("switch/")] + ["local.py", "state.py"])
def test_a_switch_does_not_read_the_wall_clock(name: str) -> None:
    """A clock that is wrong or is set meanwhile changes nothing: waits use the monotonic clock, files their hashes."""
    read = {node.attr for node in ast.walk(ast.parse((PACKAGE / name).read_text())) if isinstance(node, ast.Attribute)}
    assert read & WALL_CLOCK == NAMED.get(name, set())


def imported(*programs: str) -> set[str]:
    """Return the files of programs: their own, all that they import when they start, and the packages of these."""
    found, todo = set[str](), list(programs)
    while todo:
        name = todo.pop()
        if name in found or name not in MODULES:
            continue
        found.add(name)
        *folders, _ = name.split("/")
        todo += ["/".join([*folders[:depth], "__init__.py"]) for depth in range(len(folders) + 1)]
        for node in ast.parse((PACKAGE / name).read_text()).body:  # not the imports in functions
            if isinstance(node, ast.ImportFrom) and node.level:
                base = folders[: len(folders) + 1 - node.level] + (node.module.split(".") if node.module else [])
                todo += ["/".join(base) + ".py", *("/".join([*base, each.name]) + ".py" for each in node.names)]
    return found


def test_the_playbooks_send_what_switch_and_stage_import() -> None:
    """No more, because it is sent for every look, and no less."""
    text = yaml.safe_load((ROOT / "playbooks/vars/main.yml").read_text())["sparkiac_parts"]
    pattern = "".join(re.findall(r"'([^']*)'", text.partition("'search',")[2]))
    sent = {name for name in MODULES if re.search(pattern, f"usr/local/lib/sparkiac/host/{name}")}
    assert sent == imported("switch/program.py", "stage/program.py")


def test_the_playbooks_send_what_preflight_and_network_import() -> None:
    [task] = [
        task
        for task in yaml.safe_load((ROOT / "playbooks/roles/preflight/tasks/main.yml").read_text())
        if "preflight_parts" in task.get("vars", {})
    ]
    assert {f"host/{name}" for name in imported("preflight/program.py")} == set(task["vars"]["preflight_parts"])
    [copied] = [
        task["loop"]
        for task in yaml.safe_load((ROOT / "playbooks/roles/network/tasks/set.yml").read_text())
        if "modules" in task["name"]
    ]
    assert set(copied) == {"network", *(f"host/{name}" for name in imported("network/links.py"))}


def test_the_package_sends_what_its_programs_import() -> None:
    assert imported("probe/program.py") == {name for name in MODULES if volumes.OF_PROBE.fullmatch(f"host/{name}")}
    for name in ("probe/program.py", *(each for each in MODULES if each.startswith("sent/"))):
        assert imported(name) == set(assets.imported(name))


def test_a_bundle_leaves_no_bytecode_of_what_it_imports_from_the_host(tmp_path: Path) -> None:
    (tmp_path / "installed.py").touch()
    program = "import sys\n\ndef main(argv):\n    sys.path.append(argv[0])\n    import installed\n    return 7\n"
    lines = ["host.x", {"host/__init__.py": "", "host/x.py": program}, [str(tmp_path)]]
    argv = [sys.executable, "-c", (ROOT / "playbooks/bundle.py").read_text()]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    assert subprocess.run(argv, input=text, text=True, env=env, check=False).returncode == 7
    assert [path.name for path in tmp_path.iterdir()] == ["installed.py"]
