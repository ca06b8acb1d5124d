"""Which units restart, in which order, and what is reported: on a host of stand-ins."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host.switch import actions as units_look
from sparkiac.host.switch import restart as units_restart
from tests.host.switching import Host

if TYPE_CHECKING:
    from pathlib import Path

TOMORROW = 86_400
LIMIT = 119


def unit(name: str, *, memory: int | None = 10, listen: str | None = None, drain_s: int = 0) -> dict[str, Any]:
    """Return the plan of a unit."""
    files = [f"etc/systemd/system/sparkiac-{name}.service", f"etc/sparkiac/{name}/compose.yaml"]
    found: dict[str, Any] = {"name": f"sparkiac-{name}", "files": files, "secrets": ["key"], "memory_bytes": memory}
    return {
        **found,
        "listen": listen,
        "group": False,
        "ready_timeout_s": 60,
        "drain_s": drain_s,
        "turns": [],
        "promise": None,
    }


class Planned:
    """A host whose installed plan may change."""

    def __init__(self, root: Path) -> None:
        """Start `a` and `b`."""
        self.host = Host(root)
        self.host.write("etc/sparkiac/secrets/key", "first")
        self.plan(unit("a"), unit("b"))
        assert self.restart() == ["restart sparkiac-a", "restart sparkiac-b"]

    def plan(self, *units: dict[str, Any], memory: int | None = LIMIT) -> None:
        """Install a plan with its files."""
        self.planned = self.host.planned = {"memory_bytes": memory, "units": list(units)}
        for each in units:
            for path in each["files"]:
                self.host.write(path, f"{path} {each['memory_bytes']} {each['listen']}\n")

    def steps(self, **tree: str) -> list[tuple[str, str, str]]:
        """Return what must be done."""
        return [(*step,) for step in units_look.steps(self.host, self.planned, tree=tree)]

    def result(self, *also: str) -> dict[str, Any]:
        """Restart what differs."""
        self.host.log.clear()
        return dict(units_restart.restart(self.host, self.planned, list(also)))

    def restart(self, *also: str) -> list[str]:
        """Restart what differs; return what systemctl was told to stop, start and restart."""
        self.result(*also)
        return [line for line in self.host.log if line.startswith(("stop ", "start ", "restart ", "drain", "undrain"))]

    def systemd(self, **properties: str) -> None:
        """Change what systemd says of the unit `a`."""
        self.host.said["sparkiac-a"] = properties


@pytest.fixture
def fleet(tmp_path: Path) -> Planned:
    """Return a host on which `a` and `b` run."""
    return Planned(tmp_path)


def test_nothing_is_done_to_units_that_run_what_is_planned(fleet: Planned) -> None:
    assert fleet.steps() == []
    assert fleet.result() == {"done": [], "failed": []}


def test_units_are_enabled_before_they_start(tmp_path: Path) -> None:
    log = [line for line in Planned(tmp_path).host.log if not line.startswith("reset-failed")]
    assert log == ["enable sparkiac-a", "enable sparkiac-b", "restart sparkiac-a", "restart sparkiac-b"]


def test_file_dates_decide_nothing(fleet: Planned) -> None:
    for path in (fleet.host.root / "etc").rglob("*"):
        os.utime(path, (time.time() + TOMORROW,) * 2)
    assert fleet.restart() == []


@pytest.mark.parametrize("path", ["etc/sparkiac/b/compose.yaml", "etc/systemd/system/sparkiac-b.service"])
def test_other_content_restarts_its_unit_alone(path: str, fleet: Planned) -> None:
    fleet.host.write(path, "other")
    assert fleet.steps() == [("sparkiac-b", "restart", f"changed: /{path}")]
    assert fleet.restart() == ["restart sparkiac-b"]
    assert fleet.steps() == []


def test_a_drop_in_restarts_its_unit(fleet: Planned) -> None:
    fleet.host.write("etc/systemd/system/a.conf", "other")
    fleet.systemd(DropInPaths="/etc/systemd/system/a.conf")
    assert fleet.steps() == [("sparkiac-a", "restart", "changed: /etc/systemd/system/a.conf")]


def test_a_new_secret_restarts_the_units_that_read_it(fleet: Planned) -> None:
    fleet.host.write("etc/sparkiac/secrets/key", "second")
    assert fleet.restart() == ["restart sparkiac-a", "restart sparkiac-b"]
    assert "second" not in (fleet.host.root / "run/sparkiac/started/sparkiac-a.json").read_text()


@pytest.mark.parametrize("record", [None, "", "[]", '{"invocation": "other", "content": {}}'])
def test_a_running_unit_without_a_record_restarts(record: str | None, fleet: Planned) -> None:
    path = fleet.host.root / "run/sparkiac/started/sparkiac-a.json"
    path.unlink() if record is None else path.write_text(record)
    assert fleet.steps() == [("sparkiac-a", "restart", "no record of its files")]


def test_a_crash_between_two_versions_does_not_hide_what_runs(fleet: Planned) -> None:
    """The new file was copied, the unit crashed and read it; then the former file comes back."""
    path = fleet.host.root / "etc/sparkiac/a/compose.yaml"
    former = path.read_text()
    path.write_text("new")
    fleet.host.run("systemctl", "restart", "sparkiac-a.service")
    assert fleet.steps() == []
    path.write_text(former)
    assert fleet.restart() == ["restart sparkiac-a"]


def test_a_unit_file_that_systemd_has_not_read_is_not_recorded(fleet: Planned) -> None:
    fleet.host.write("etc/systemd/system/sparkiac-a.service", "new")
    fleet.systemd(NeedDaemonReload="yes")
    fleet.host.run("systemctl", "restart", "sparkiac-a.service")
    fleet.systemd(NeedDaemonReload="no")
    assert fleet.steps() == [("sparkiac-a", "restart", "changed: /etc/systemd/system/sparkiac-a.service")]


@pytest.mark.parametrize(
    ("active", "sub", "enabled", "step", "done"),
    [
        ("inactive", "dead", "enabled", ("start", "not running"), ["restart sparkiac-a"]),
        ("failed", "failed", "enabled", ("start", "failed"), ["restart sparkiac-a"]),
        ("activating", "auto-restart", "enabled", ("start", "failed"), ["restart sparkiac-a"]),
        ("activating", "start", "enabled", ("wait", "starting"), ["start sparkiac-a"]),
        ("deactivating", "stop", "enabled", ("restart", "deactivating"), ["restart sparkiac-a"]),
        ("active", "running", "disabled", ("enable", "not enabled at boot"), []),
    ],
)
def test_states(  # noqa: PLR0913, PLR0917
    active: str, sub: str, enabled: str, step: tuple[str, str], done: list[str], fleet: Planned
) -> None:
    fleet.systemd(ActiveState=active, SubState=sub, UnitFileState=enabled)
    assert fleet.steps() == [("sparkiac-a", *step)]
    assert fleet.restart() == done


def test_a_node_restarts_with_its_group(fleet: Planned) -> None:
    assert fleet.restart("sparkiac-b") == ["restart sparkiac-b"]


def test_a_unit_is_drained_before_it_stops(fleet: Planned) -> None:
    fleet.plan(unit("a", memory=1, listen="127.0.0.1:1", drain_s=1), unit("b"))
    assert fleet.restart() == ["drain", "stop sparkiac-a", "undrain", "restart sparkiac-a"]


@pytest.mark.parametrize(
    ("limit", "order"),
    [
        # a grows from 40 to 70, b shrinks from 70 to 40: beside each other 140 would be needed.
        (119, ["restart sparkiac-b", "restart sparkiac-a", "restart sparkiac-c"]),
        (150, ["restart sparkiac-a", "restart sparkiac-b", "restart sparkiac-c"]),
        (None, ["restart sparkiac-a", "restart sparkiac-b", "restart sparkiac-c"]),
    ],
)
def test_units_that_shrink_go_first_if_not_all_fit(limit: int | None, order: list[str], fleet: Planned) -> None:
    fleet.plan(unit("a", memory=40), unit("b", memory=70), unit("c", memory=None), memory=limit)
    fleet.restart()
    fleet.plan(unit("a", memory=70), unit("b", memory=40), unit("c", memory=5), memory=limit)
    assert fleet.restart() == order


def test_the_memory_of_a_unit_that_stays_counts(fleet: Planned) -> None:
    fleet.plan(unit("a", memory=20), unit("b", memory=40), unit("c", memory=50))
    fleet.restart()
    fleet.plan(unit("a", memory=30), unit("b", memory=39), unit("c", memory=50))
    assert fleet.restart() == ["restart sparkiac-b", "restart sparkiac-a"]


def test_ports_that_were_swapped(fleet: Planned) -> None:
    fleet.plan(unit("a", listen="lan:1"), unit("b", listen="lan:2"))
    fleet.restart()
    fleet.plan(unit("a", listen="lan:2"), unit("b", listen="lan:1"))
    assert fleet.restart() == ["stop sparkiac-b", "restart sparkiac-a", "restart sparkiac-b"]


LOG = """\
ok       MEM002  page cache           found dropped  wanted dropped
 Container sparkiac-a-server-1 Started
INFO [stand-in] loading
supervise: starting
\x1b[31mERROR\x1b[0m ValueError: the cache is too small\x07
INFO:     127.0.0.1 - "GET /health HTTP/1.1" 503 -
supervise: starting /health: HTTP 503
INFO:     127.0.0.1 - "GET /health HTTP/1.1" 503 - error
a.service: start operation timed out. Terminating.
supervise: stopping, last state: starting /health: HTTP 503
"""


def test_a_failed_start_is_reported_in_ten_lines_and_ends_the_restarts(fleet: Planned) -> None:
    fleet.plan(unit("a"), unit("b"))
    for name in "ab":
        fleet.host.write(f"etc/sparkiac/{name}/compose.yaml", "crash")
    fleet.host.journal = LOG + "".join(f"RuntimeError: {number}\n" for number in range(4))
    [report] = fleet.result()["failed"]
    assert report.splitlines() == [
        "sparkiac-a did not become ready: its process ended with an error.",
        "last health check: starting /health: HTTP 503",
        r"  ERROR ValueError: the cache is too small\x07",
        *(f"  RuntimeError: {number}" for number in range(4)),
        "whole log: journalctl --unit=sparkiac-a",
    ]
    assert fleet.host.units["sparkiac-b"].active == "active", "it runs as before"


def test_a_report_begins_at_a_position_of_the_journal_and_not_at_a_time(fleet: Planned) -> None:
    """The clock of the host may be set while a unit starts."""
    asked: list[str] = []
    real = fleet.host.run

    def run(*argv: str) -> Any:  # noqa: ANN401 - CommandResult of a script
        done = real(*argv)
        if argv[0] != "journalctl":
            return done
        asked.append(" ".join(argv))
        last = '{"PRIORITY" : "6", "__CURSOR" : "s=1f;i=2a"}\n'
        return done._replace(output=last if "--output=json" in argv else LOG)

    fleet.host.run = run  # type: ignore[method-assign]
    fleet.host.write("etc/sparkiac/a/compose.yaml", "crash")
    [report] = fleet.result()["failed"]
    assert "ValueError: the cache is too small" in report
    assert "--after-cursor=s=1f;i=2a" in asked[-1]
    assert "--since" not in " ".join(asked)


@pytest.mark.parametrize("log", [LOG * 50 + "".join(f"error {n} {'x' * 999}\n" for n in range(99)), "plain\n" * 99, ""])
def test_a_report_is_short_whatever_was_logged(log: str, fleet: Planned) -> None:
    fleet.host.write("etc/sparkiac/a/compose.yaml", "crash")
    fleet.host.journal = log
    [report] = fleet.result()["failed"]
    assert len(report.splitlines()) <= 10
    assert max(map(len, report.splitlines())) < 210
    assert "GET /health" not in report


def test_the_content_of_a_tree_that_will_be_installed_decides(fleet: Planned) -> None:
    tree = {"etc/sparkiac/a/compose.yaml": "0" * 64}
    assert [step[:2] for step in fleet.steps(**tree)] == [("sparkiac-a", "restart")]


def test_a_record_is_readable_only_by_root(fleet: Planned) -> None:
    assert (fleet.host.root / "run/sparkiac/started/sparkiac-a.json").stat().st_mode & 0o777 == 0o600
