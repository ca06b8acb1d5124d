"""A run that goes on after the tests that passed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CONFTEST = "from tests.conftest import pytest_addoption, pytest_configure\n"
TESTS = """\
from pathlib import Path

def test_first(): ...
def test_second(): assert Path("mended").exists()
"""


def outcome(folder: Path) -> tuple[int, list[str]]:
    """Return the exit code of a run with a worker, and the tests that passed."""
    words = ["-n", "1", "-rp", "-p", "no:cacheprovider", "--import-mode=importlib", "--resume", ".deep/own"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("PASSED")]
    return done.returncode, sorted(line.partition("/")[2] for line in lines)


def test_only_what_did_not_pass_runs_again(tmp_path: Path) -> None:
    """Tests of a file on booted hosts build on each other: all of them run again."""
    for name in ("e2e/test_hosts.py", "plan/test_pure.py"):
        path = tmp_path / "tests" / name
        path.parent.mkdir(parents=True)
        path.write_text(TESTS)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    both = ["e2e/test_hosts.py::test_first", "plan/test_pure.py::test_first"]
    assert outcome(tmp_path) == (1, both)
    (tmp_path / "mended").touch()
    assert outcome(tmp_path) == (0, [both[0], "e2e/test_hosts.py::test_second", "plan/test_pure.py::test_second"])
    assert outcome(tmp_path) == (0, [])
