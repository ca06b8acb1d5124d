"""Find out what must be done with the units of this host, from the content that they run from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .. import local, settings
from ..local import SECRETS, LocalHost
from . import effects, record, store

RUNNING = ("active", "reloading")
STAYING = ("enable", "wait", "reload")
"""Actions that do not disturb a unit."""
KEYS = "/config/keys.json"
"""End of the file of a unit that reads its secrets again when it reloads: the gateway."""


class UnitAction(NamedTuple):
    """What must be done with a unit (remove, stop, enable, wait, reload, start or restart), and why."""

    unit: str
    action: str
    because: str

    def line(self) -> str:
        """Return one line for the journal."""
        return f"{self.action} {self.unit}: {self.because}"


def same_file(machine: LocalHost, path: str, mode: str, sha256: str) -> bool:
    """Return whether a file has the expected content, mode and owner."""
    try:
        status = machine.path(path).lstat()
    except OSError:
        return False
    owned = status.st_uid == machine.path("/").stat().st_uid
    return owned and status.st_mode & 0o7777 == int(mode, 8) and machine.sha256(path) == sha256


def same_sysctl(machine: LocalHost, key: str, value: str) -> bool:
    """Return whether a setting has the expected value; the kernel may separate words by tabs."""
    return settings.value_of(machine, key) == " ".join(value.split())


def removals(plan: dict[str, Any], former: dict[str, Any]) -> Iterator[UnitAction]:
    """Return the removal of each unit that only the former plan has."""
    for unit in effects.leaving(plan, former):
        drained = f"; drained first, for at most {unit['drain_s']} s" if unit["drain_s"] and unit["listen"] else ""
        yield UnitAction(unit["name"], "remove", f"no longer on this host{drained}")


def steps(
    machine: LocalHost, plan: dict[str, Any], turn: str | None = None, *, tree: dict[str, str]
) -> list[UnitAction]:
    """Return what must be done with the units: stop those of other turns, then the others in the order of the plan."""
    states = local.states(machine, [unit["name"] for unit in plan["units"]])
    found = [
        UnitAction(unit["name"], "stop", f"not in the turn {turn}")
        for unit in store.resting_in(plan, turn)
        if not rests(states[unit["name"]])
    ]
    for unit in store.running_in(plan, turn):
        state = states[unit["name"]]
        action, because = decide(machine, unit, state, tree)
        if not action and state["UnitFileState"] != "enabled":
            action, because = "enable", "not enabled at boot"
        if action:
            found.append(UnitAction(unit["name"], action, because))
    return found


def rests(state: dict[str, str]) -> bool:
    """Return whether a unit does not run, and does not start at boot or by itself."""
    retrying = state["SubState"].startswith("auto-restart")
    return state["ActiveState"] in ("inactive", "failed") and not retrying and state["UnitFileState"] != "enabled"


def decide(machine: LocalHost, unit: dict[str, Any], state: dict[str, str], tree: dict[str, str]) -> tuple[str, str]:
    """Return action and reason for a unit, or empty texts. A running unit without a record is restarted."""
    active, retrying = state["ActiveState"], state["SubState"].startswith("auto-restart")
    if active in ("inactive", "failed") or retrying:
        idle = "not running" if state["UnitFileState"] else effects.NEW
        return "start", "failed" if retrying or active == "failed" else idle
    if unit["name"].endswith(".timer"):  # nothing runs from its files: systemd reads them when they are installed
        return "", ""
    started = record.recorded(machine, unit["name"], state["InvocationID"])
    if started is None:
        return "restart", "no record of its files"
    different = record.changed(machine, started["content"], record.content(machine, unit, state, tree))
    if different:
        secrets = {f"{SECRETS.lstrip('/')}/{name}" for name in unit["secrets"]}
        read_again = active in RUNNING and any(path.endswith(KEYS) for path in unit["files"])
        action = "reload" if read_again and secrets.issuperset(different) else "restart"
        return action, "changed: /" + ", /".join(different)
    if active in RUNNING:
        return "", ""
    return ("wait", "starting") if active == "activating" else ("restart", active)
