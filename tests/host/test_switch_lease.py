"""The lease of a host: one apply at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host import local as units_host
from sparkiac.host.switch import lease as switch_lease
from tests.host.conftest import SCRIPTS

if TYPE_CHECKING:
    from types import ModuleType

STUBS = Path(__file__).parent / "stubs"
HERE, THERE = "0123456789abcdef", "fedcba9876543210"
"""Machines of controllers."""
MILO = f"milo@desk, pid 4711 [{HERE}/4711-88]"
ANNA = f"anna@laptop, pid 12 [{THERE}/12-7]"
TAKE = """
import json, sys, time
sys.path.insert(0, {scripts!r})
sys.dont_write_bytecode = True
from pathlib import Path
from host import local
from host.switch import lease
write = local.write
local.write = lambda *words: (time.sleep(0.5), write(*words))  # a slow disk, so that others come in between
print("ready", flush=True)
sys.stdin.readline()
try:
    print(json.dumps(lease.take(local.LocalHost(Path(sys.argv[1])), sys.argv[2], sys.argv[3])))
except lease.LeaseHeldError as error:
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

    def take(self, run: str, owner: str = MILO, *running: str, take_over: bool = False) -> dict[str, Any]:
        """Take the lease in this process; `running` are the processes of the machine that asks."""
        asking = {"owner": owner, "running": [identity(owner), *running], "take_over": take_over}
        return dict(self.module.take(self.machine, run, owner, asking))

    def age(self, seconds: float, **changes: object) -> None:
        """Make the lease older, and change it."""
        lease = json.loads(self.path.read_text())
        older = {key: lease[key] - seconds for key in ("taken", "renewed")}
        self.path.write_text(json.dumps({**lease, **older, **changes}))

    def switch(self, state: str) -> None:
        """Set the state of the unit of the switch."""
        (self.stub / "units.json").write_text(json.dumps({"sparkiac-switch": {"ActiveState": state}}))

    def argv(self, run: str) -> list[str]:
        """Return the command that takes the lease in a process of its own."""
        return [sys.executable, "-c", TAKE.format(scripts=str(SCRIPTS)), str(self.stub / "root"), run, ANNA]


def identity(owner: str) -> str:
    """Return the process of an owner."""
    return owner.partition("/")[2].rstrip("]")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """Return a host without a lease."""
    monkeypatch.setenv("STUB", str(tmp_path))
    monkeypatch.setenv("PATH", f"{STUBS}:{os.environ['PATH']}")
    (tmp_path / "units.json").write_text("{}")
    module = switch_lease
    return Host(units_host.LocalHost(tmp_path / "root"), tmp_path, module)


def test_a_lease_is_taken_renewed_and_released(host: Host) -> None:
    assert host.module.holder(host.machine) is None
    assert host.take("one") == {"run": "one", "owner": MILO, "taken_from": None}
    host.age(170)
    assert host.module.renew(host.machine, "one") == {"renewed": True}
    assert host.path.stat().st_mode & 0o777 == 0o600
    host.age(80)
    held = host.module.holder(host.machine)
    assert (held["run"], held["owner"]) == ("one", "milo@desk, pid 4711")
    assert 250 <= held["age_s"] < 260, "the age is that of the first taking"
    assert 80 <= held["renewed_s"] < 90
    assert host.module.release(host.machine, "other") == {"released": False}
    assert host.module.holder(host.machine)
    assert host.module.release(host.machine, "one") == {"released": True}
    assert host.module.release(host.machine, "one") == {"released": False}
    assert host.module.holder(host.machine) is None


def test_only_the_holder_renews_a_lease(host: Host) -> None:
    host.take("one")
    host.age(200)
    host.take("two", ANNA)
    for run in ("one", "three"):
        with pytest.raises(host.module.LeaseHeldError, match=f"the run {run} does not hold the lease"):
            host.module.renew(host.machine, run)
    host.module.release(host.machine, "two")
    with pytest.raises(host.module.LeaseHeldError):
        host.module.renew(host.machine, "two")


def test_a_second_apply_is_refused_and_names_the_owner_of_the_lease(host: Host) -> None:
    host.take("one")
    host.age(150)
    host.module.renew(host.machine, "one")
    host.age(50)
    node = os.uname().nodename
    said = (
        f"{node} is being applied by milo@desk, pid 4711, for 3 min (run one, step check or download, renewed 50 s "
        "ago); wait until it ends; if it has failed, its lease ends in 130 s"
    )
    with pytest.raises(host.module.LeaseHeldError) as refused:
        host.take("two", ANNA)
    assert str(refused.value) == said
    with pytest.raises(host.module.LeaseHeldError) as required:
        host.module.require(host.machine, "two")
    assert str(required.value) == said
    host.module.require(host.machine, "one")
    assert host.module.holder(host.machine)["run"] == "one"


def test_a_lease_without_renewal_dies_after_180_s(host: Host) -> None:
    host.take("one")
    host.age(178)
    with pytest.raises(host.module.LeaseHeldError):
        host.take("two", ANNA)
    host.age(2)
    assert host.module.holder(host.machine) is None
    host.module.require(host.machine, "two")
    found = host.take("two", ANNA)["taken_from"]
    assert (found["run"], found["owner"]) == ("one", "milo@desk, pid 4711")
    assert 180 <= found["age_s"] < 190


NEXT = f"milo@desk, pid 5000 [{HERE}/5000-99]"
OTHER = f"anna@desk, pid 5000 [{HERE}/5000-99]"
ELSEWHERE = f"milo@desk, pid 5000 [{THERE}/5000-99]"


@pytest.mark.parametrize(
    ("asks", "running", "take_over", "taken"),
    [
        (NEXT, [], False, True),
        (NEXT, ["4711-88"], False, False),
        (NEXT, ["4711-98"], False, True),  # another process got the number
        (f"milo@desk, pid 3000 [{HERE}/3000-88]", [], False, False),  # it may have begun after the list was made
        (OTHER, [], False, False),
        (OTHER, [], True, True),
        (OTHER, ["4711-88"], True, False),
        (ELSEWHERE, [], True, False),  # a machine of the same name, or the same one after a boot
        ("milo@desk, pid 5000", [], True, False),  # nothing proves it
    ],
)
def test_the_lease_of_a_process_that_has_ended(
    host: Host, asks: str, running: list[str], *, take_over: bool, taken: bool
) -> None:
    host.take("one")
    asking = {"owner": asks, "running": [identity(asks), *running], "take_over": take_over}
    assert host.module.holder(host.machine, asking)["free"] is taken
    if taken:
        assert host.take("two", asks, *running, take_over=take_over)["taken_from"]["ended"]
    else:
        with pytest.raises(host.module.LeaseHeldError):
            host.take("two", asks, *running, take_over=take_over)
    assert host.module.holder(host.machine)["run"] == ("two" if taken else "one")


def test_who_may_not_take_the_lease_of_another_user_is_told_how(host: Host) -> None:
    host.take("one")
    with pytest.raises(host.module.LeaseHeldError) as refused:
        host.take("two", OTHER)
    assert str(refused.value).endswith(
        "; its process has ended: --take-over, or -e take_over=1 for ansible-playbook, takes the lease"
    )


def test_the_lease_of_a_turn_has_no_process_and_ends_by_itself(host: Host) -> None:
    host.module.take(host.machine, "turn", "switch turn night")
    with pytest.raises(host.module.LeaseHeldError, match="by switch turn night, for"):
        host.take("two", NEXT, take_over=True)
    host.age(180)
    assert host.take("two", NEXT)["taken_from"]["run"] == "turn"


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
def test_a_live_lease_cannot_be_taken_while_its_switch_runs(host: Host, state: str) -> None:
    host.take("one")
    host.switch(state)
    assert host.module.holder(host.machine)["step"] == "switch"
    with pytest.raises(host.module.LeaseHeldError, match="its switch runs now, and ends by itself"):
        host.take("two", OTHER)
    host.take("one")


@pytest.mark.parametrize("reason", ["not renewed", "ended"])
def test_whoever_takes_a_dead_lease_waits_for_the_end_of_its_switch(
    host: Host, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.take("one")
    host.age(10_000 if reason == "not renewed" else 0)
    host.switch("active")
    assert host.module.holder(host.machine)["run"] == "one"
    waits = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        assert json.loads(host.path.read_text())["run"] == "one"
        if len(waits) == 3:
            host.switch("inactive")

    # In this module alone: a thread of an earlier test may sleep.
    monkeypatch.setattr(host.module, "time", SimpleNamespace(sleep=wait))
    assert host.take("two", ANNA if reason == "not renewed" else NEXT)["taken_from"]["run"] == "one"
    assert len(waits) == 3


def test_the_step_after_the_switch_is_the_gate(host: Host) -> None:
    host.take("one")
    for run, step in (("zero", "check or download"), ("one", "gate")):
        host.path.with_name("request.json").write_text(json.dumps({"run": run}))
        assert host.module.holder(host.machine)["step"] == step


def test_a_lease_of_a_former_version_lives_as_long_as_its_session(host: Host) -> None:
    """That version does not renew its leases, and its programs read those of this one."""
    host.take("one")
    assert json.loads(host.path.read_text()).keys() == {"run", "owner", "taken", "renewed", "session"}
    began = host.module.started(os.getpid())
    host.age(200, session={"pid": os.getpid(), "started": began}, owner="milo@desk, pid 4711")
    with pytest.raises(host.module.LeaseHeldError):
        host.take("two", NEXT)
    host.age(0, session={"pid": os.getpid(), "started": began - 1})
    assert host.take("two", NEXT)["taken_from"]["run"] == "one"


def test_a_process_name_may_contain_parentheses_and_spaces(host: Host, tmp_path: Path) -> None:
    odd = tmp_path / "a) (b 1"
    odd.write_text("#!/bin/sh\necho; read -r _\n")
    odd.chmod(0o755)
    with subprocess.Popen([odd], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout
        running.stdout.readline()
        assert host.module.started(running.pid) >= host.module.started(os.getpid())
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
    assert all(f"(run {run}, step " in errors for (_, errors), code in done if code)
