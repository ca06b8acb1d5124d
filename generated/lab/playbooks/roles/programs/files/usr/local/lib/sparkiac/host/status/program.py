"""Report the state of this host as one JSON object; changes nothing. Needs only Python 3.10 or newer.

status [METRIC...]   machine, generation, drift and units; METRIC is the name of a metric that is read twice, a second
                     apart, from the server of each unit

Without root, some facts cannot be read: `unread` names them, with the reason. Called by `sparkiac status`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .. import state as switch_state
from ..kernel import packages, trial
from ..local import LocalHost, starred
from ..network import doors, rules
from ..switch import drift as switch_drift
from ..switch import store
from . import machine as status_machine
from . import metrics as status_metrics
from . import units as status_units

UNREADABLE = (OSError, ValueError, RuntimeError)


def status(machine: LocalHost, metrics: list[str]) -> dict[str, Any]:
    """Return all facts; the parts are read at the same time."""
    begin_s = time.time()
    unread: dict[str, str] = {}
    state = attempted(unread, "generation", lambda: switch_state.shown(switch_state.read(machine)))
    plan = attempted(unread, "units", lambda: installed(machine))
    with ThreadPoolExecutor() as pool:
        parts = {
            "machine": pool.submit(status_machine.facts, machine, (plan or {}).get("packages", {})),
            "drift": pool.submit(attempted, unread, "drift", lambda: drift(machine, state)),
            "kernel": pool.submit(attempted, unread, "kernel", lambda: trial.shown(machine)["trial"]),
            "packages": pool.submit(attempted, unread, "packages", lambda: packages.shown(machine)),
            "doors": pool.submit(doors_fault, machine),
            "sick": pool.submit(status_metrics.sick, machine),
            "units": pool.submit(attempted, unread, "units", lambda: units(machine, plan, state, metrics, unread)),
        }
        found = {name: part.result() for name, part in parts.items()}
    clock = {"begin_s": begin_s, "end_s": time.time()}
    known = {"generation": state, **found, "root": os.geteuid() == 0, "unread": unread, "clock": clock}
    return dict(starred(machine, known))


def doors_fault(machine: LocalHost) -> str | None:
    """Return what is wrong with the tables of nftables; None without root, which alone can read them."""
    whole = doors.is_whole(machine, doors.read(machine))
    return None if whole else f"table {rules.TABLE} or {rules.BRIDGES} of nftables lacks what was written to it"


def attempted(unread: dict[str, str], name: str, read: Callable[[], Any]) -> Any:  # noqa: ANN401 - any part
    """Return what a function reads, or None with the reason under its name."""
    try:
        return read()
    except UNREADABLE as error:
        unread[name] = " ".join(str(error).split())
        return None


def installed(machine: LocalHost) -> dict[str, Any]:
    """Return the plan of the installed generation; a host without a generation has no units."""
    return store.installed(machine) if machine.path(f"/{store.PLAN}").exists() else store.NOTHING


def drift(machine: LocalHost, state: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return which files, kernel settings and units differ from the current generation; None without a generation."""
    if state is None or state["current"] is None:
        return None
    found = switch_drift.drift(machine, state["current"])
    changed = [each["unit"] for each in found["units"] if each["action"] in ("restart", "enable", "stop")]
    return {
        "files": [{key: each[key] for key in ("path", "kind")} for each in found["files"]],
        "sysctls": sorted({each["key"] for each in found["sysctls"]}),
        "units": changed,
        "packages": found["packages"],
    }


def units(
    machine: LocalHost,
    plan: dict[str, Any] | None,
    state: dict[str, Any] | None,
    metrics: list[str],
    unread: dict[str, str],
) -> list[dict[str, Any]] | None:
    """Return the facts about the units of the installed generation; those of other turns are marked and not asked."""
    if plan is None:
        return None
    turn = store.current_turn(plan, state["turn"] if state else None)
    marked = [{**unit, "resting": not store.runs_in(unit, turn)} for unit in plan["units"]]
    return status_units.facts(machine, marked, metrics, unread)


def main(argv: list[str]) -> int:
    """Print the state of this host."""
    parser = argparse.ArgumentParser(prog="status", description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path("/"), help="root directory of the host, for tests")
    parser.add_argument("metrics", nargs="*", metavar="METRIC")
    arguments = parser.parse_args(argv)
    sys.stdout.write(json.dumps(status(LocalHost(arguments.root), arguments.metrics)) + "\n")
    return 0
