"""The lease of this host: one apply at a time may change it.

A lease is live while a switch runs, for 90 s after it was last renewed, and while the SSH session that renewed it
lives. Everybody may take over a lease that is not live. Ages are measured with /proc/uptime, because the wall clock
of a host may be wrong or change.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator  # noqa: UP035 - Python 3.8

import units_host
from contract import validated

if TYPE_CHECKING:
    from units_host import LocalHost

LEASE = "/run/sparkiac/lease.json"
LOCK = "/run/sparkiac/lease.lock"
SWITCH = "sparkiac-switch.service"
RENEWED_FOR_S = 90
SESSIONS = ("sshd", "sshd-session")
SESSION = {"pid": int, "started": int}
SHAPE = {"run": str, "owner": str, "taken": float, "renewed": float, "session": (SESSION, None)}
MINUTE_S = 60


class LeaseHeldError(RuntimeError):
    """Another apply holds the lease."""


def take(machine: LocalHost, run: str, owner: str, *, break_: bool = False) -> dict[str, Any]:
    """Take or renew the lease for a run; return it with the former holder, or raise LeaseHeldError.

    `break_` takes a live lease too, except while its switch runs: a switch cannot be stopped halfway.
    """
    with locked(machine):
        former = read(machine)
        other = former if former and former["run"] != run else None
        if other and switch_runs(machine):
            raise LeaseHeldError(message(other) + "wait: its switch runs now, and ends by itself")
        if other and not break_ and alive(other):
            raise LeaseHeldError(message(other) + "wait until it ends, or break its lease if you know that it is dead")
        now = uptime()
        taken = former["taken"] if former and not other else now
        lease = {"run": run, "owner": owner, "taken": taken, "renewed": now, "session": session()}
        units_host.write(machine, LEASE, json.dumps(lease))
    return {"run": run, "owner": owner, "taken_from": shown(other) if other else None}


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


def holder(machine: LocalHost) -> dict[str, Any] | None:
    """Return run, owner and age of the live lease; None if there is none. Changes nothing."""
    lease = read(machine)
    return shown(lease) if lease and (alive(lease) or switch_runs(machine)) else None


def require(machine: LocalHost, run: str) -> None:
    """Raise LeaseHeldError if another run holds a live lease."""
    lease = read(machine)
    if lease and lease["run"] != run and (alive(lease) or switch_runs(machine)):
        raise LeaseHeldError(message(lease) + "wait until it ends")


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
    try:
        return dict(validated("program", LEASE, json.loads(machine.read(LEASE)), SHAPE))
    except (OSError, ValueError):
        return None


def alive(lease: dict[str, Any]) -> bool:
    """Return whether a lease was renewed recently or the SSH session that renewed it still exists."""
    since = uptime() - lease["renewed"]
    if since < 0:  # of an earlier boot
        return False
    found = lease["session"]
    return since < RENEWED_FOR_S or (found is not None and started(found["pid"]) == found["started"])


def switch_runs(machine: LocalHost) -> bool:
    """Return whether a switch runs on this host, including one that systemd starts again or stops now."""
    done = machine.run("systemctl", "show", "--property=ActiveState", "--value", SWITCH)
    return done.output.strip() not in ("", "inactive", "failed")


def uptime() -> float:
    """Return the seconds since the boot."""
    return float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])


def session() -> dict[str, int] | None:
    """Return the nearest ancestor process that is an SSH session; None if there is none."""
    pid = os.getpid()
    while pid > 1:
        fields = process(pid)
        if fields is None:
            return None
        name, parent, began = fields
        if name in SESSIONS:
            return {"pid": pid, "started": began}
        pid = parent
    return None


def started(pid: int) -> int | None:
    """Return when a process started, in clock ticks after the boot; None if it does not exist."""
    found = process(pid)
    return found[2] if found else None


def process(pid: int) -> tuple[str, int, int] | None:
    """Return name, parent and start time of a process; None if it does not exist."""
    try:
        head, _, tail = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")
    except OSError:
        return None
    fields = tail.split()  # from the third field on: state, parent, …; the 22nd is the start time
    return head.partition("(")[2], int(fields[1]), int(fields[19])


def shown(lease: dict[str, Any]) -> dict[str, Any]:
    """Return what others see of a lease."""
    return {"run": lease["run"], "owner": lease["owner"], "age_s": max(0, int(uptime() - lease["taken"]))}


def message(lease: dict[str, Any]) -> str:
    """Return the first half of a message: who applies, and for how long."""
    age = shown(lease)["age_s"]
    duration = f"{age // MINUTE_S} min" if age >= MINUTE_S else f"{age} s"
    return f"{os.uname().nodename} is being applied by {lease['owner']}, for {duration} (run {lease['run']}); "
