"""The lease of this host: one apply at a time may change it.

A running apply renews its leases every 30 s. A lease that was not renewed for 180 s holds nothing, and neither does one
whose process is proven to have ended: an apply that asks for the lease sends the list of processes on its machine.
While a switch runs, nobody takes the lease over: the switch ends by itself. Ages are measured with /proc/uptime,
because the wall clock of a host may be wrong or change.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from .. import local
from ..local import LocalHost

LEASE = "/run/sparkiac/lease.json"
LOCK = "/run/sparkiac/lease.lock"
REQUEST = "/run/sparkiac/request.json"
SWITCH = "sparkiac-switch.service"
RENEWED_FOR_S = 180
CONTROLLER = {"owner": str, "running": list[str], "take_over": bool}
"""Who asks: its name as the owner of leases, the processes of its machine (PID-START), and whether it takes over the
leases of other users' processes that have ended."""
UNKNOWN = {"owner": "", "running": [], "take_over": False}
MINUTE_S = 60
POLL_S = 0.5


class SshSession(NamedTuple):
    """The process that held a lease of a former version."""

    pid: int
    started: int


SHAPE = {"run": str, "owner": str, "taken": float, "renewed": float, "session": SshSession | None}
"""The owner is "ada@desk, pid 4711 [MACHINE/4711-START]". Former versions show it whole; they record an SSH session."""


class LeaseHeldError(RuntimeError):
    """Another apply holds the lease."""


def take(machine: LocalHost, run: str, owner: str, controller: dict[str, Any] = UNKNOWN) -> dict[str, Any]:
    """Take the lease for a run; return it with the former holder, or raise LeaseHeldError.

    If the former holder has ended and its switch still runs, wait for the end of the switch.
    """
    while True:
        with locked(machine):
            former = read(machine)
            other = former if former and former["run"] != run else None
            found = shown(machine, other, controller) if other else None
            if found and not found["free"]:
                raise LeaseHeldError(message(found))
            if not found or found["step"] != "switch":
                now = uptime()
                taken = former["taken"] if former and not other else now
                write(machine, {"run": run, "owner": owner, "taken": taken, "renewed": now, "session": None})
                return {"run": run, "owner": owner, "taken_from": found}
        time.sleep(POLL_S)


def renew(machine: LocalHost, run: str) -> dict[str, Any]:
    """Renew the lease of a run; raise LeaseHeldError if the run does not hold it any more."""
    with locked(machine):
        lease = read(machine)
        if lease is None or lease["run"] != run:
            raise LeaseHeldError(f"the run {run} does not hold the lease of this host")
        write(machine, {**lease, "renewed": uptime()})
    return {"renewed": True}


def release(machine: LocalHost, run: str) -> dict[str, Any]:
    """Remove the lease of a run; the lease of another run stays. Return whether it was removed."""
    if not machine.path(LEASE).exists():  # after an uninstall, there is no directory for the lock either
        return {"released": False}
    with locked(machine):
        former = read(machine)
        mine = former is not None and former["run"] == run
        if mine:
            machine.path(LEASE).unlink()
    return {"released": mine}


def holder(machine: LocalHost, controller: dict[str, Any] = UNKNOWN) -> dict[str, Any] | None:
    """Return what others see of the live lease; None if there is none. Changes nothing."""
    lease = read(machine)
    return shown(machine, lease, controller) if lease and (alive(lease) or switch_runs(machine)) else None


def require(machine: LocalHost, run: str) -> None:
    """Raise LeaseHeldError if another run holds a live lease."""
    lease = holder(machine)
    if lease and lease["run"] != run:
        raise LeaseHeldError(message(lease))


@contextmanager
def locked(machine: LocalHost) -> Iterator[None]:
    """Let only one process at a time read and replace the lease."""
    path = machine.path(LOCK)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def read(machine: LocalHost) -> dict[str, Any] | None:
    """Return the lease file; None if there is none or another version wrote it."""
    return local.read_record(machine, LEASE, SHAPE)


def write(machine: LocalHost, lease: dict[str, Any]) -> None:
    """Replace the lease file."""
    local.write(machine, LEASE, json.dumps(lease))


def alive(lease: dict[str, Any]) -> bool:
    """Return whether a lease was renewed recently, or the SSH session of a former version still exists."""
    since = uptime() - lease["renewed"]
    if since < 0:  # of an earlier boot
        return False
    found = lease["session"]
    return since < RENEWED_FOR_S or (found is not None and started(found["pid"]) == found["started"])


def ended(lease: dict[str, Any], controller: dict[str, Any]) -> bool:
    """Return whether the process of a lease is proven to have ended.

    It ran on the machine of the controller, is not running there, and began before the controller listed what runs.
    """
    machine, _, process = identity(lease["owner"]).rpartition("/")
    here, _, own = identity(controller["owner"]).rpartition("/")
    if not machine or machine != here or process in controller["running"]:
        return False
    return int(process.rpartition("-")[2]) < int(own.rpartition("-")[2])


def free(lease: dict[str, Any], controller: dict[str, Any]) -> bool:
    """Return whether the controller may take a lease; the lease of another user only if it says so."""
    mine = lease["owner"].partition(",")[0] == controller["owner"].partition(",")[0]
    return not alive(lease) or (ended(lease, controller) and (mine or controller["take_over"]))


def identity(owner: str) -> str:
    """Return machine and process of an owner; empty for the timer of a turn and for former versions."""
    return owner.partition(" [")[2].rstrip("]")


def switch_runs(machine: LocalHost) -> bool:
    """Return whether a switch runs on this host, including one that systemd starts again or stops now."""
    done = machine.run("systemctl", "show", "--property=ActiveState", "--value", SWITCH)
    return done.output.strip() not in ("", "inactive", "failed")


def uptime() -> float:
    """Return the seconds since the boot."""
    return float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])


def started(pid: int) -> int | None:
    """Return when a process started, in clock ticks after the boot; None if it does not exist."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[19])  # its name may contain spaces and parentheses


def step_of(machine: LocalHost, run: str) -> str:
    """Return the phase of a run; docs/apply.md describes them."""
    if switch_runs(machine):
        return "switch"
    try:
        asked = json.loads(machine.read(REQUEST))["run"]
    except (OSError, ValueError, KeyError):
        asked = None
    return "gate" if asked == run else "check or download"


def shown(machine: LocalHost, lease: dict[str, Any], controller: dict[str, Any]) -> dict[str, Any]:
    """Return what others see of a lease."""
    return {
        "run": lease["run"],
        "owner": lease["owner"].partition(" [")[0],
        "age_s": max(0, int(uptime() - lease["taken"])),
        "renewed_s": max(0, int(uptime() - lease["renewed"])),
        "step": step_of(machine, lease["run"]),
        "ended": ended(lease, controller),
        "free": free(lease, controller),
    }


def message(lease: dict[str, Any]) -> str:
    """Return who applies, for how long, in which step, and what to do."""
    age = lease["age_s"]
    duration = f"{age // MINUTE_S} min" if age >= MINUTE_S else f"{age} s"
    advice = f"wait until it ends; if it has failed, its lease ends in {max(0, RENEWED_FOR_S - lease['renewed_s'])} s"
    if lease["step"] == "switch":
        advice = "wait: its switch runs now, and ends by itself"
    elif lease["ended"]:
        advice = "its process has ended: --take-over, or -e take_over=1 for ansible-playbook, takes the lease"
    return (
        f"{os.uname().nodename} is being applied by {lease['owner']}, for {duration} (run {lease['run']}, step "
        f"{lease['step']}, renewed {lease['renewed_s']} s ago); {advice}"
    )
