"""What all tests share: the command line as a fixture, golden updates, and no skipping in CI."""

from __future__ import annotations

import ast
import gc
import importlib.util
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from sparkiac.console import run
from tests import schedule
from tests.callback import LESS_WORK
from tests.resume import Resume

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from xdist.remote import Producer

ROOT = Path(__file__).parent.parent
"""The checkout."""
_MAY_SKIP_IN_CI = "opt-in"
"""A skip whose reason starts so is allowed in CI: a job that people start by hand."""

settings.register_profile("sparkiac", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sparkiac")
"""The same examples in every run, whatever else the machine does meanwhile."""


def generator(name: str) -> ModuleType:
    """Load tools/docs/<name>.py, which is no module of the package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / f"tools/docs/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_a_test(name: str) -> bool:
    """Return whether there is a test of this name, file::function, which asserts something."""
    file, _, function = name.partition("::")
    nodes = ast.walk(ast.parse((ROOT / file).read_text()))
    found = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == function]
    return len(found) == 1 and any(isinstance(node, (ast.Assert, ast.With)) for node in ast.walk(found[0]))


@dataclass(frozen=True)
class Outcome:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Everything that was printed."""
        return self.out + self.err


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that rewrite golden files and resume a run."""
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden; review the diff in Git")
    parser.addoption("--resume", type=Path, metavar="FILE", help="leave out the tests in FILE, add those that pass")


def pytest_configure(config: pytest.Config) -> None:
    """Let tests interrupt what they start, even if a shell started all in the background; set up Ansible."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(LESS_WORK)
    if file := config.getoption("resume"):
        config.pluginmanager.register(Resume(file, config))


def pytest_xdist_auto_num_workers() -> int:
    """Start two workers for each core."""
    return schedule.WORKERS


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> schedule.Schedule | None:
    """Distribute files in an order of our own with `--dist loadfile`."""
    return schedule.Schedule(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection():  # noqa: ANN201
    """Collect garbage of none of the twenty thousand tests: looking for it takes half of the time of the collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # noqa: ANN201, ARG001
    """Turn a skip into a failure in CI: there, everything that a test needs is installed."""
    report = yield
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not reason.removeprefix("Skipped: ").startswith(_MAY_SKIP_IN_CI):
            report.outcome = "failed"
            report.longrepr = f"skipped in CI, where nothing may skip: {reason}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many tests were skipped for which reason."""
    reports = terminalreporter.getreports("skipped")
    reasons = Counter(str(each.longrepr[2]) for each in reports if isinstance(each.longrepr, tuple))
    for reason, number in reasons.most_common():
        terminalreporter.write_line(f"{number} skipped: {reason.removeprefix('Skipped: ')}")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Return a function that runs `sparkiac …` in this process: fast, and an exception is a failure."""

    def call(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = run(list(arguments))
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return Outcome(code, said.out, said.err)

    return call


@pytest.fixture
def sparkiac(tmp_path: Path) -> Callable[..., Outcome]:
    """Return a function that runs `sparkiac …` as its own process, in an empty folder unless `cwd` is given."""

    def start(*arguments: str, cwd: Path = tmp_path, env: dict[str, str] | None = None) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "sparkiac", *arguments],
            cwd=cwd,
            env=os.environ | {"NO_COLOR": "1"} | (env or {}),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return start
