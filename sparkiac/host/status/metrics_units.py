"""Metrics of the units of this host, as systemd sees them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import local
from .. import state as switch_state
from ..local import LocalHost
from ..switch import starts, store, turns

PROPERTIES = ("ActiveState", "NRestarts", "StatusText")
ALERT = "sparkiac-alert:"
"""Marks a wrong answer in the status of a unit; probe/watch.py writes it, and `supervise` passes it on."""


def samples(machine: LocalHost, units: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, str], float]]:
    """Return state and restarts of each unit. For a unit of another turn, return only that it is not to run."""
    found = shown(machine, [each["unit"] for each in units])
    resting = names_of_other_turns(machine)
    for each in units:
        state = found[each["unit"]]
        labels = {"unit": each["unit"], "deployment": each["deployment"] or ""}
        if each["unit"] in resting:
            yield "sparkiac_unit_resting", labels, 1
            continue
        yield "sparkiac_unit_ready", labels, int(state["ActiveState"] == "active")
        yield "sparkiac_unit_failed", labels, int(state["ActiveState"] == "failed")
        yield "sparkiac_unit_restarts_total", labels, int(state["NRestarts"])
        if state["ActiveState"] == "failed" and (reason := starts.gave_up(machine, each["unit"])):
            yield "sparkiac_unit_gave_up", {**labels, "reason": reason}, 1
        if each["deployment"] is not None:
            yield "sparkiac_wrong_answer", labels, int(ALERT in state["StatusText"])


def names_of_other_turns(machine: LocalHost) -> set[str]:
    """Return the units of the installed generation that do not run in the current turn."""
    if not machine.path(f"/{store.PLAN}").exists():
        return set()
    plan = store.installed(machine)
    turn = turns.current(plan, switch_state.read(machine).turn)
    return {unit["name"] for unit in turns.resting(plan, turn)}


def shown(machine: LocalHost, names: list[str]) -> dict[str, dict[str, str]]:
    """Return the state of each unit, with one call of systemctl for all."""
    if not names:
        return {}
    done, found = local.shown(machine, names, PROPERTIES, within_s=20)
    if done.code or not all(found.get(name, {}).keys() >= set(PROPERTIES) for name in names):
        raise RuntimeError(f"unexpected output of systemctl show: {(done.errors or done.output).strip()[:200]!r}")
    return found
