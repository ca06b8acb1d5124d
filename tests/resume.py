"""`pytest --resume FILE` leaves out the tests that FILE lists, and adds those that pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.schedule import needs_hosts

if TYPE_CHECKING:
    from pathlib import Path


class Resume:
    """What passed before. Workers get it from the process that started them, which alone adds to the file."""

    def __init__(self, file: Path, config: pytest.Config) -> None:
        """Read the file, if there is one."""
        self.file = file
        sent: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.records = sent is None
        self.passed: set[str] = set(self._read() if sent is None else sent["passed"])
        self.failed: set[str] = set()

    def _read(self) -> list[str]:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.touch()
        return self.file.read_text().splitlines()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401 - of xdist, which has no types
        """Send a worker the list of passed tests."""
        node.workerinput["passed"] = sorted(self.passed)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what passed; a file on booted hosts only as a whole, since its tests build on each other."""
        begun = {item.path for item in items if item.nodeid not in self.passed and needs_hosts(item.nodeid)}
        done = [item for item in items if item.nodeid in self.passed and item.path not in begun]
        config.hook.pytest_deselected(items=done)
        left = set(items) - set(done)
        items[:] = [item for item in items if item in left]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a test that passed, or was skipped."""
        if report.failed:
            self.failed.add(report.nodeid)
        elif self.records and report.when == "teardown" and report.nodeid not in self.failed:
            with self.file.open("a") as file:
                file.write(f"{report.nodeid}\n")

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Succeed where nothing was left to run."""
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.passed:
            session.exitstatus = pytest.ExitCode.OK
