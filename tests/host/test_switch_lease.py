"""The lease of a host: one apply at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.host.conftest import SCRIPTS, load

if TYPE_CHECKING:
    from types import ModuleType

STUBS = Path(__file__).parent / "stubs"
MILO = "milo@desk, pid 4711"
ANNA = "anna@laptop, pid 12"
TAKE = """
import json, sys, time
sys.path.insert(0, {scripts!r})
sys.dont_write_bytecode = True
from pathlib import Path
import switch_lease, units_host
write = units_host.write
units_host.write = lambda *words: (time.sleep(0.5), write(*words))  # a slow disk, so that others come in between
print("ready", flush=True)
sys.stdin.readline()
try:
    print(json.dumps(switch_lease.take(units_host.LocalHost(Path(sys.argv[1])), sys.argv[2], sys.argv[3])))
except switch_lease.LeaseHeldError as error:
    sys.exit(str(error))
"""


@dataclass
class Host:
    """A host of stand-ins."""

    machine: Any
    stub: Path
    module: ModuleType

    @property
    def path(self) -> Path:
        """The lease file."""
        return self.stub / "root/run/sparkiac/lease.json"

    def take(self, run: str, owner: str = MILO, **options: bool) -> dict[str, Any]:
        """Take the lease in this process."""
        return dict(self.module.take(self.machine, run, owner, **options))

    def age(self, seconds: float, **changes: object) -> None:
        """Make the lease older, and change it."""
        lease = json.loads(self.path.read_text())
        older = {key: lease[key] - seconds for key in ("taken", "renewed")}
        self.path.write_text(json.dumps({**lease, **older, **changes}))

    def switch(self, state: str) -> None:
        """Say in which state the unit of the switch is."""
        (self.stub / "units.json").write_text(json.dumps({"sparkiac-switch": {"ActiveState": state}}))

    def argv(self, run: str) -> list[str]:
        """Return the command that takes the lease in a process of its own."""
        return [sys.executable, "-c", TAKE.format(scripts=str(SCRIPTS)), str(self.stub / "root"), run, ANNA]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """Give a host without a lease."""
    monkeypatch.setenv("STUB", str(tmp_path))
    monkeypatch.setenv("PATH", f"{STUBS}:{os.environ['PATH']}")
    (tmp_path / "units.json").write_text("{}")
    module = load("switch_lease.py")
    monkeypatch.setattr(module, "session", lambda: None)  # the tests may run in an SSH session
    return Host(sys.modules["units_host"].LocalHost(tmp_path / "root"), tmp_path, module)


def test_a_lease_is_taken_renewed_and_released(host: Host) -> None:
    assert host.module.holder(host.machine) is None
    assert host.take("one") == {"run": "one", "owner": MILO, "taken_from": None}
    host.age(80)
    assert host.take("one")["taken_from"] is None
    assert host.path.stat().st_mode & 0o777 == 0o600
    host.age(80)
    held = host.module.holder(host.machine)
    assert (held["run"], held["owner"]) == ("one", MILO)
    assert 160 <= held["age_s"] < 170, "the age is that of the first taking"
    assert host.module.release(host.machine, "other") == {"released": False}
    assert host.module.holder(host.machine)
    assert host.module.release(host.machine, "one") == {"released": True}
    assert host.module.release(host.machine, "one") == {"released": False}
    assert host.module.holder(host.machine) is None


def test_a_second_apply_is_refused_and_told_who_holds_the_lease(host: Host) -> None:
    host.take("one")
    host.age(200)
    host.take("one")
    node = os.uname().nodename
    said = f"{node} is being applied by {MILO}, for 3 min (run one); "
    with pytest.raises(host.module.LeaseHeldError) as refused:
        host.take("two", ANNA)
    assert str(refused.value) == said + "wait until it ends, or break its lease if you know that it is dead"
    with pytest.raises(host.module.LeaseHeldError) as required:
        host.module.require(host.machine, "two")
    assert str(required.value) == said + "wait until it ends"
    host.module.require(host.machine, "one")
    assert host.module.holder(host.machine)["run"] == "one"


def test_a_live_lease_can_be_broken(host: Host) -> None:
    host.take("one")
    assert host.take("two", ANNA, break_=True)["taken_from"]["owner"] == MILO
    assert host.module.holder(host.machine)["run"] == "two"


def test_a_lease_without_renewal_dies_after_90_s(host: Host) -> None:
    host.take("one")
    host.age(88)
    with pytest.raises(host.module.LeaseHeldError):
        host.take("two", ANNA)
    host.age(2)
    assert host.module.holder(host.machine) is None
    host.module.require(host.machine, "two")
    found = host.take("two", ANNA)["taken_from"]
    assert (found["run"], found["owner"]) == ("one", MILO)
    assert 90 <= found["age_s"] < 100


def test_a_lease_of_an_earlier_boot_is_dead(host: Host) -> None:
    host.take("one")
    host.age(-1000)
    assert host.take("two", ANNA)["taken_from"]["run"] == "one"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"run": "one"}'])
def test_a_lease_that_cannot_be_read_is_none(host: Host, text: str) -> None:
    host.take("one")
    host.path.write_text(text)
    assert host.take("two")["taken_from"] is None


@pytest.mark.parametrize("state", ["active", "activating", "deactivating"])
def test_a_lease_lives_and_cannot_be_broken_while_its_switch_runs(host: Host, state: str) -> None:
    host.take("one")
    host.age(10_000)
    host.switch(state)
    assert host.module.holder(host.machine)["run"] == "one"
    for options in ({}, {"break_": True}):
        with pytest.raises(host.module.LeaseHeldError, match="its switch runs now"):
            host.take("two", ANNA, **options)
    host.take("one")
    host.switch("inactive")
    host.age(90)
    assert host.take("two", ANNA)["taken_from"]["run"] == "one"


def test_a_lease_lives_as_long_as_the_ssh_session_that_renewed_it(host: Host) -> None:
    """A program named sshd starts two levels of processes, and the last one takes the lease."""
    session = host.stub / "sshd"
    session.write_text('#!/bin/sh\nsh -c \'"$@"; :\' sh "$@" </dev/null >&2\necho done\nread -r _\n')
    session.chmod(0o755)
    pipe = subprocess.PIPE
    argv = [session, *host.argv("one")]
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as running:
        assert running.stdout
        assert running.stdin
        assert running.stdout.readline() == "done\n"
        lease = json.loads(host.path.read_text())
        assert lease["session"]["pid"] == running.pid
        host.age(10_000)
        with pytest.raises(host.module.LeaseHeldError, match="wait until it ends"):
            host.take("two")
        running.stdin.close()
    assert host.take("two")["taken_from"]["run"] == "one"


def test_another_process_with_the_number_of_the_session_does_not_keep_the_lease(host: Host) -> None:
    host.take("one")
    began = host.module.started(os.getpid())
    host.age(100, session={"pid": os.getpid(), "started": began})
    assert host.module.holder(host.machine)
    host.age(100, session={"pid": os.getpid(), "started": began - 1})
    assert host.module.holder(host.machine) is None


def test_a_process_name_may_contain_parentheses_and_spaces(host: Host, tmp_path: Path) -> None:
    odd = tmp_path / "a) (b 1"
    odd.write_text("#!/bin/sh\necho; read -r _\n")
    odd.chmod(0o755)
    with subprocess.Popen([odd], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout
        running.stdout.readline()
        name, parent, _ = host.module.process(running.pid)
        assert (name, parent) == ("a) (b 1", os.getpid())
        running.communicate()


def test_of_twenty_processes_exactly_one_gets_the_lease(host: Host) -> None:
    """All processes are ready before any of them may begin."""
    pipe = subprocess.PIPE
    argvs = [host.argv(f"run{number}") for number in range(20)]
    takers = [subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for argv in argvs]
    for taker in takers:
        assert taker.stdout
        assert taker.stdout.readline() == "ready\n"
    for taker in takers:
        assert taker.stdin
        taker.stdin.write("\n")
        taker.stdin.flush()
    done = [(taker.communicate(), taker.returncode) for taker in takers]
    winners = [output for (output, _), code in done if code == 0]
    assert len(winners) == 1, done
    run = json.loads(winners[0])["run"]
    assert host.module.holder(host.machine)["run"] == run
    assert all(f"(run {run}); wait" in errors for (_, errors), code in done if code)
