"""The program that restarts units by content, with stand-ins for systemctl, systemd-run and journalctl."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.host.conftest import SCRIPTS

STUBS = Path(__file__).parent / "stubs"
TOMORROW = 86_400
LIMIT = 119


def unit(name: str, *, memory: int | None = 10, listen: str | None = None) -> dict[str, Any]:
    """Make the plan of a unit."""
    files = [f"etc/systemd/system/{name}.service", f"etc/sparkiac/{name}/compose.yaml"]
    return {"name": name, "files": files, "secrets": ["key"], "memory_bytes": memory, "listen": listen}


@dataclass
class Fleet:
    """A host of stand-ins."""

    stub: Path

    @property
    def root(self) -> Path:
        """Root directory of the host."""
        return self.stub / "root"

    def write(self, path: str, text: str) -> Path:
        """Write a file of the host."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def plan(self, *units: dict[str, Any], memory: int | None = LIMIT) -> None:
        """Write the plan of the units, and for a new one its files."""
        self.write("etc/sparkiac/units.json", json.dumps({"memory_bytes": memory, "units": units}))
        for each in units:
            for path in each["files"]:
                self.write(path, f"{path} {each['memory_bytes']} {each['listen']}\n")

    def env(self) -> dict[str, str]:
        """Environment with the stand-ins."""
        return {**os.environ, "STUB": str(self.stub), "PATH": f"{STUBS}:{os.environ['PATH']}"}

    def run(self, *words: str) -> dict[str, Any]:
        """Run the program and read the object that it prints."""
        argv = [self.stub / "units", "--root", self.root, *words]
        done = subprocess.run(argv, env=self.env(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    def look(self, **tree: Any) -> dict[str, Any]:  # noqa: ANN401
        """Compare the host with a tree that holds the plan which is on the host."""
        plan = json.loads((self.root / "etc/sparkiac/units.json").read_text())
        empty = {"files": [], "hashes": [], "sysctls": [], "new_secrets": [], "plan": plan}
        return self.run("look", "--tree", json.dumps({**empty, **tree}))

    def steps(self) -> list[tuple[str, str, str]]:
        """Say what would be done to units."""
        return [(each["unit"], each["action"], each["because"]) for each in self.look()["units"]]

    def restart(self, *words: str) -> list[str]:
        """Restart what changed; give what systemctl was told to stop, start and restart meanwhile."""
        (self.stub / "log").write_text("")
        self.run("restart", *words)
        log = (self.stub / "log").read_text().splitlines()
        return [line for line in log if line.startswith(("stop ", "start ", "restart "))]

    def systemd(self, name: str, **properties: str) -> None:
        """Change what systemd says of a unit."""
        path = self.stub / "units.json"
        units = json.loads(path.read_text())
        units[name].update(properties)
        path.write_text(json.dumps(units))


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Start `a` and `b` on a host, once for all tests."""
    stub = tmp_path_factory.mktemp("units")
    (stub / "units.json").write_text("{}")
    (stub / "units").symlink_to(SCRIPTS / "units")
    found = Fleet(stub)
    found.write("etc/sparkiac/secrets/key", "first")
    found.plan(unit("a"), unit("b"))
    assert found.restart() == ["restart a", "restart b"]
    assert found.steps() == []
    return stub


@pytest.fixture
def fleet(started: Path, tmp_path: Path) -> Fleet:
    """Give a host of its own on which `a` and `b` run."""
    return Fleet(shutil.copytree(started, tmp_path / "host", symlinks=True))


def test_a_first_start_enables_and_starts_in_the_order_of_the_plan(tmp_path: Path) -> None:
    (tmp_path / "units.json").write_text("{}")
    (tmp_path / "units").symlink_to(SCRIPTS / "units")
    found = Fleet(tmp_path)
    found.plan(unit("z"), unit("a"))
    assert [(name, action) for name, action, _ in found.steps()] == [("z", "start"), ("a", "start")]
    assert found.run("restart")["changed"] is True
    log = (tmp_path / "log").read_text().splitlines()
    assert log[0].startswith("systemd-run sparkiac-restart restart --here")
    assert log[1:] == ["daemon-reload", "enable z", "enable a", "restart z", "restart a"]
    assert found.run("restart") == {"changed": False, "done": [], "failed": []}


def test_time_decides_nothing(fleet: Fleet) -> None:
    for path in (fleet.root / "etc").rglob("*"):
        os.utime(path, (time.time() + TOMORROW,) * 2)
    assert fleet.restart() == []


@pytest.mark.parametrize(
    ("path", "because"),
    [
        ("etc/sparkiac/b/compose.yaml", "changed: /etc/sparkiac/b/compose.yaml"),
        ("etc/systemd/system/b.service", "changed: /etc/systemd/system/b.service"),
        ("etc/systemd/system/b.service.d/x.conf", "changed: /etc/systemd/system/b.service.d/x.conf"),
    ],
)
def test_other_content_restarts_its_unit_alone(path: str, because: str, fleet: Fleet) -> None:
    before = time.time() - TOMORROW
    os.utime(fleet.write(path, "other"), (before, before))
    if path.endswith(".conf"):
        fleet.systemd("b", DropInPaths=f"/{path}")
    assert fleet.steps() == [("b", "restart", because)]
    assert fleet.restart() == ["restart b"]
    assert fleet.steps() == []


def test_a_new_secret_restarts_who_reads_it(fleet: Fleet) -> None:
    fleet.write("etc/sparkiac/secrets/key", "second")
    assert fleet.restart() == ["restart a", "restart b"]
    record = (fleet.root / "run/sparkiac/started/a.json").read_text()
    assert "second" not in record
    assert (fleet.root / "run/sparkiac/started/a.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("record", [None, "", "[]", '{"invocation": "other", "content": {}}'])
def test_what_is_not_known_of_a_running_unit_restarts_it(record: str | None, fleet: Fleet) -> None:
    path = fleet.root / "run/sparkiac/started/a.json"
    path.unlink() if record is None else path.write_text(record)
    assert fleet.steps() == [("a", "restart", "no record of its files")]


def test_a_crash_between_two_versions_does_not_hide_what_runs(fleet: Fleet) -> None:
    """The new file came, the play was cut off, the unit crashed and read it; then the former file comes back."""
    path = fleet.root / "etc/sparkiac/a/compose.yaml"
    former = path.read_text()
    path.write_text("new")
    subprocess.run([STUBS / "systemctl", "restart", "a.service"], env=fleet.env(), check=True)
    assert fleet.steps() == []
    path.write_text(former)
    assert fleet.restart() == ["restart a"]


def test_a_unit_that_systemd_has_not_read_anew_is_not_taken_for_the_new_one(fleet: Fleet) -> None:
    fleet.write("etc/systemd/system/a.service", "new")
    fleet.systemd("a", NeedDaemonReload="yes")
    subprocess.run([STUBS / "systemctl", "restart", "a.service"], env=fleet.env(), check=True)
    fleet.systemd("a", NeedDaemonReload="no")
    assert fleet.steps() == [("a", "restart", "changed: /etc/systemd/system/a.service")]


@pytest.mark.parametrize(
    ("active", "sub", "enabled", "step"),
    [
        ("inactive", "dead", "enabled", ("a", "start", "not running")),
        ("failed", "failed", "enabled", ("a", "start", "failed")),
        ("activating", "auto-restart", "enabled", ("a", "start", "failed")),
        ("activating", "start", "enabled", ("a", "wait", "starting")),
        ("deactivating", "stop", "enabled", ("a", "restart", "deactivating")),
        ("active", "running", "disabled", ("a", "enable", "not enabled at boot")),
    ],
)
def test_states(active: str, sub: str, enabled: str, step: tuple[str, str, str], fleet: Fleet) -> None:
    fleet.systemd("a", ActiveState=active, SubState=sub, UnitFileState=enabled)
    assert fleet.steps() == [step]
    verbs = {"start": ["restart a"], "restart": ["restart a"], "wait": ["start a"], "enable": []}
    assert fleet.restart() == verbs[step[1]]
    assert fleet.steps() == []


def test_waiting_for_a_start_is_no_change(fleet: Fleet) -> None:
    fleet.systemd("a", ActiveState="activating", SubState="start")
    assert fleet.run("restart")["changed"] is False


def test_a_node_restarts_with_its_group(fleet: Fleet) -> None:
    assert fleet.restart("--also=b") == ["restart b"]


@pytest.mark.parametrize(
    ("limit", "order"),
    [
        # a grows from 40 to 70, b shrinks from 70 to 40: beside each other 140 would be needed.
        (119, ["restart b", "restart a", "restart c"]),
        (150, ["restart a", "restart b", "restart c"]),
        (None, ["restart a", "restart b", "restart c"]),
    ],
)
def test_what_shrinks_goes_first_where_both_sizes_do_not_fit(limit: int | None, order: list[str], fleet: Fleet) -> None:
    fleet.plan(unit("a", memory=40), unit("b", memory=70), unit("c", memory=None), memory=limit)
    fleet.restart()
    fleet.plan(unit("a", memory=70), unit("b", memory=40), unit("c", memory=5), memory=limit)
    assert fleet.restart() == order


def test_the_memory_of_a_unit_that_stays_counts(fleet: Fleet) -> None:
    fleet.plan(unit("a", memory=20), unit("b", memory=40), unit("c", memory=50))
    fleet.restart()
    fleet.plan(unit("a", memory=30), unit("b", memory=39), unit("c", memory=50))
    assert fleet.restart() == ["restart b", "restart a"]


def test_ports_that_were_swapped(fleet: Fleet) -> None:
    fleet.plan(unit("a", listen="lan:1"), unit("b", listen="lan:2"))
    fleet.restart()
    fleet.plan(unit("a", listen="lan:2"), unit("b", listen="lan:1"))
    assert fleet.restart() == ["stop b", "restart a", "restart b"]


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


def test_a_failed_start_is_told_in_ten_lines_and_keeps_no_other_unit_down(fleet: Fleet) -> None:
    fleet.plan(unit("a", memory=1), unit("b", memory=1))
    (fleet.stub / "bad").write_text("a")
    (fleet.stub / "journal-a").write_text(LOG + "".join(f"RuntimeError: {number}\n" for number in range(4)))
    found = fleet.run("restart")
    assert [each["unit"] for each in found["done"]] == ["a", "b"]
    [report] = found["failed"]
    assert report.splitlines() == [
        "a did not become ready: it was not ready in time. systemd keeps trying to start it.",
        "last health check: starting /health: HTTP 503",
        r"  ERROR ValueError: the cache is too small\x07",
        *(f"  RuntimeError: {number}" for number in range(4)),
        "whole log: journalctl --unit=a",
    ]
    assert fleet.steps() == [("a", "start", "failed")]


def test_a_report_is_short_whatever_was_logged(fleet: Fleet) -> None:
    fleet.plan(unit("a", memory=1), unit("b"))
    (fleet.stub / "bad").write_text("a")
    for log in (LOG * 50 + "".join(f"error {number} {'x' * 999}\n" for number in range(99)), "plain\n" * 99, ""):
        (fleet.stub / "journal-a").write_text(log)
        [report] = fleet.run("restart")["failed"]
        assert len(report.splitlines()) <= 10
        assert max(map(len, report.splitlines())) < 210
        assert "GET /health" not in report


def test_who_started_it_may_die(fleet: Fleet) -> None:
    """The client is killed while the first of two units restarts: both are restarted, and the next call waits."""
    fleet.plan(unit("a", memory=1), unit("b", memory=1))
    (fleet.stub / "slow").write_text("1")
    argv = [fleet.stub / "units", "--root", fleet.root, "restart"]
    with subprocess.Popen(argv, env=fleet.env(), start_new_session=True, stdout=subprocess.DEVNULL) as client:
        deadline = time.monotonic() + 60
        while "restart a" not in (fleet.stub / "log").read_text().splitlines()[-1]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.killpg(client.pid, signal.SIGKILL)
    assert fleet.run("restart") == {"changed": False, "done": [], "failed": []}
    assert fleet.steps() == []


def test_a_run_that_ends_without_a_result_is_an_error(fleet: Fleet) -> None:
    (fleet.root / "etc/sparkiac/units.json").write_text("{")
    argv = [fleet.stub / "units", "--root", fleet.root, "restart"]
    done = subprocess.run(argv, env=fleet.env(), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("units restart: sparkiac-restart ended without a result; see journalctl")


@pytest.mark.parametrize("command", [["started", "a"], ["look", "--tree", "{}"], ["restart", "--here"]])
def test_another_key_is_named_before_anything_is_done(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "units").symlink_to(SCRIPTS / "units")
    found = Fleet(tmp_path)
    found.write("etc/sparkiac/units.json", json.dumps({"memory_bytes": None, "units": [{**unit("a"), "lisen": "x"}]}))
    argv = [tmp_path / "units", "--root", found.root, *command]
    done = subprocess.run(argv, env=found.env(), capture_output=True, text=True, check=False)
    name = "/etc/sparkiac/units.json: this program does not know units[0].lisen"
    if command[0] == "look":
        name = "tree: files, hashes, sysctls, plan, new_secrets are missing"
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"units {command[0]}: {name}: generate and apply again\n"
    assert not (tmp_path / "log").exists(), "systemctl was not called"


def test_a_look_at_files_and_kernel_settings(fleet: Fleet) -> None:
    digest = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
    for name in ("same", "mode", "content"):
        fleet.write(f"etc/{name}", "foo").chmod(0o644)
    (fleet.root / "etc/mode").chmod(0o600)
    fleet.write("etc/content", "bar")
    fleet.write("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n")
    fleet.write("proc/sys/vm/swappiness", "60\n")
    names = ("same", "mode", "content", "missing")
    found = fleet.look(
        files=[{"path": f"etc/{name}", "mode": "0644"} for name in names],
        hashes=[digest] * len(names),
        sysctls=[
            {"key": "net.ipv4.tcp_rmem", "value": "4096 131072 6291456"},
            {"key": "vm.swappiness", "value": "1"},
            {"key": "vm.none", "value": "1"},
        ],
    )
    assert found == {
        "files": ["etc/mode", "etc/content", "etc/missing"],
        "sysctls": ["vm.swappiness", "vm.none"],
        "units": [],
    }


def test_a_dry_run_knows_what_is_about_to_come(fleet: Fleet) -> None:
    compose = {"path": "etc/sparkiac/a/compose.yaml", "mode": "0644"}
    found = fleet.look(files=[compose], hashes=["0" * 64], new_secrets=[])
    assert [each["unit"] for each in found["units"]] == ["a"]
    assert [each["unit"] for each in fleet.look(new_secrets=["key"])["units"]] == ["a", "b"]
    assert [each["unit"] for each in fleet.look(new_secrets=["other"])["units"]] == []
