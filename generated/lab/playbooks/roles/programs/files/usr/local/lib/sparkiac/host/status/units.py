"""Facts about the units of this host: their state in systemd, the answers of their servers, and their metrics."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .. import local, series
from ..local import LocalHost
from ..network import doors
from ..switch import drain, report, starts
from . import journal

PROPERTIES = {
    "LoadState": "loaded",
    "ActiveState": "active",
    "SubState": "sub",
    "UnitFileState": "enabled",
    "Result": "result",
    "StatusText": "health",
    "NRestarts": "restarts",
    "ActiveEnterTimestampMonotonic": "active_for_s",
}
"""Property of systemd → key of the result. `supervise` reports the health of the container as StatusText."""
NUMBERS: dict[str, Callable[[str], int | None]] = {
    "NRestarts": int,
    "ActiveEnterTimestampMonotonic": lambda value: since(int(value)),
}
US = 1_000_000
BETWEEN_S = 1
"""Time between two readings of the metrics, from which the controller computes rates."""
PROBE_TIMEOUT_S = 12
STALE_S = 300
"""A health check takes 150 s at most; the next one follows at once."""
THREADS = 16
NO_START = "the journal shows no start of a unit; without root, it shows only what the user may read"


def facts(
    machine: LocalHost, units: list[dict[str, Any]], metrics: list[str], unread: dict[str, str]
) -> list[dict[str, Any]]:
    """Return the facts about each unit, in the same order; `metrics` are the names that are read."""
    names, table = [unit["name"] for unit in units], doors.read(machine)
    with ThreadPoolExecutor(THREADS) as pool:
        servers = pool.map(lambda unit: server(machine, unit, metrics, unread), units)
        wrong = pool.submit(journal.wrong, machine, names)
        systemd, restarts = shown(machine, names), journal.restarts(machine, names)
        if restarts is None:
            unread["restarts"] = NO_START
        return [
            {
                "name": unit["name"],
                "group": unit["group"],
                "resting": unit["resting"],
                "turns": unit["turns"],
                **systemd.get(unit["name"], {}),
                "restart": (restarts or {}).get(unit["name"]),
                "wrong": wrong.result().get(unit["name"]),
                "closed": unit["name"] in table.shut,
                "drained": unit["name"] in table.drained,
                "gave_up": starts.gave_up(machine, unit["name"]),
                **answered,
            }
            for unit, answered in zip(units, servers, strict=True)
        ]


def shown(machine: LocalHost, names: list[str]) -> dict[str, dict[str, Any]]:
    """Return the state of each unit, with one call of systemctl for all."""
    if not names:
        return {}
    _, found = local.shown(machine, names, PROPERTIES, within_s=10)
    return {name: state(block) for name, block in found.items()}


def state(block: dict[str, str]) -> dict[str, Any]:
    """Return the properties of a unit under the keys of the result; a number that systemd does not have is None."""
    found: dict[str, Any] = {}
    for name, key in PROPERTIES.items():
        value = block.get(name, "")
        found[key] = NUMBERS[name](value) if name in NUMBERS and value.isdigit() else value or None
    return found


def since(monotonic_us: int) -> int | None:
    """Return the seconds since a time of the monotonic clock; 0 means never."""
    return int(time.monotonic() - monotonic_us / US) if monotonic_us else None


def server(machine: LocalHost, unit: dict[str, Any], metrics: list[str], unread: dict[str, str]) -> dict[str, Any]:
    """Return what the server of a unit answers, and two readings of its metrics."""
    if unit["promise"] is None or unit["resting"]:
        return {"asked": False}
    first = reading(machine, unit, metrics)
    found = checked(machine, unit["promise"], unread)
    if first is None:
        return found
    time.sleep(max(0.0, first["at_s"] + BETWEEN_S - time.monotonic()))
    second = reading(machine, unit, metrics)
    return {**found, "readings": [first, second] if second else None}


def checked(machine: LocalHost, promise: dict[str, Any], unread: dict[str, str]) -> dict[str, Any]:
    """Return what the probe finds without a request to the model: health, served names, connections of a group."""
    key = promise["api_key"] and str(machine.path(f"{local.SECRETS}/{promise['api_key']}"))
    hidden = key is not None and not os.access(key, os.R_OK)
    probe = ["timeout", str(PROBE_TIMEOUT_S), "python3", str(machine.path(report.PROBE)), "check", "--live"]
    without_key = ["--secrets", os.devnull] if hidden else []
    done = machine.run(*probe, "--format", "json", *report.places(machine), *without_key, promise["unit"])
    if not done.output:
        return {"asked": True, "fault": done.errors.strip() or f"no answer within {PROBE_TIMEOUT_S} s"}
    steps = {step["name"]: step for step in json.loads(done.output)["steps"]}
    if hidden:
        unread[f"served names of {promise['unit']}"] = "only root may read the API key"
        del steps["names"]  # refused without the key
    states = {name: step["state"] for name, step in steps.items()}
    return {
        "asked": set(states.values()) != {"skipped"},
        "fault": next((step["evidence"] for step in steps.values() if step["state"] == "failed"), None)
        or stale(machine, promise["unit"]),
        "served": promise["models"] if states.get("names") == "ok" else None,
    }


def stale(machine: LocalHost, unit: str) -> str | None:
    """Return that no health check of a ready unit has passed lately: its last state says nothing then."""
    ends = "{{range .State.Health.Log}}{{.End.Unix}} {{.ExitCode}}\n{{end}}"
    try:
        done = machine.run(
            "timeout", "5", "docker", "inspect", "--type=container", f"--format={ends}", f"{unit}-server-1"
        )
    except OSError:
        return None
    passed = [int(line.split()[0]) for line in done.output.splitlines() if line.endswith(" 0")]
    ago_s = time.time() - max(passed, default=0)
    if done.code or not done.output.strip() or ago_s < STALE_S:
        return None
    return f"its health check last passed {ago_s:.0f} s ago" if passed else "none of its last health checks passed"


def reading(machine: LocalHost, unit: dict[str, Any], metrics: list[str]) -> dict[str, Any] | None:
    """Return the values of these metrics and the time of the reading; None if there are none."""
    text = drain.metrics(machine, unit["promise"]) if metrics else ""
    values = {name: found for name, found in series.values(text).items() if name in metrics}
    return {"at_s": time.monotonic(), "values": values} if values else None
