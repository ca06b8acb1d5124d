"""Restart units one by one, so that each unit is stopped only during its own restart."""

from __future__ import annotations

from typing import Any

from .. import local
from ..local import LocalHost, say, unit_file
from . import actions, drain, opening, record, report, store
from .actions import UnitAction


def restart(machine: LocalHost, plan: dict[str, Any], also: list[str], turn: str | None = None) -> dict[str, Any]:
    """Stop units of other turns; then enable, start or restart units one by one, until one does not become ready.

    Return the actions and the report of the unit that failed.
    """
    steps = {step.unit: step for step in actions.steps(machine, plan, turn, tree={})}
    wanted = store.running_in(plan, turn)
    for unit in wanted:
        name = unit["name"]
        if name in also and (name not in steps or steps[name].action in actions.STAYING):
            steps[name] = UnitAction(name, "restart", "the group restarts")
    for unit in store.resting_in(plan, turn):
        if unit["name"] in steps:
            say(steps[unit["name"]].line())
            leave(machine, unit, "disable", "--now")
    todo = [unit for unit in wanted if unit["name"] in steps]
    for unit in todo:
        machine.run("systemctl", "enable", unit_file(unit["name"]))
    records = running(machine, plan)
    todo = ordered(todo, records, plan)
    reports: list[str] = []
    while todo and not reports:
        unit = todo.pop(0)
        for other in port_holders(unit, todo, records):
            machine.run("systemctl", "stop", unit_file(other))
        reports = execute(machine, unit, steps[unit["name"]])
    return {"done": [step._asdict() for step in steps.values()], "failed": reports}


def leave(machine: LocalHost, unit: dict[str, Any], *words: str) -> None:
    """Run systemctl with `words` to stop a unit, when its running requests have ended or after `drain_s`."""
    if unit["drain_s"]:
        drain.drain(machine, [unit], unit["drain_s"])
    machine.run("systemctl", *words, unit_file(unit["name"]))
    if unit["drain_s"]:
        drain.undrain(machine, [unit])


def execute(machine: LocalHost, unit: dict[str, Any], step: UnitAction) -> list[str]:
    """Execute one action and wait for its end; return a report if the unit is not ready."""
    if step.action == "enable":
        return []
    since = report.position(machine)
    say(step.line())
    if step.action == "reload":
        return reload(machine, unit, since)
    if step.action == "restart" and unit["drain_s"]:
        leave(machine, unit, "stop")
    if step.action != "wait":
        # systemd before 255 keeps NRestarts of a unit that restarts, so its starts would not count from zero.
        machine.run("systemctl", "reset-failed", unit_file(step.unit))
    # With Type=notify, systemctl returns when the server is ready or has failed.
    done = machine.run("systemctl", "start" if step.action == "wait" else "restart", unit_file(step.unit))
    if local.states(machine, [step.unit])[step.unit]["ActiveState"] in actions.RUNNING:
        opening.passed(machine, {"units": [unit]}, step.unit)  # the unit of a former version does not do so itself
        return []
    return [report.report(machine, unit, since, done.errors)]


def reload(machine: LocalHost, unit: dict[str, Any], since: str) -> list[str]:
    """Let a unit read its secrets again; return a report if it fails."""
    done = machine.run("systemctl", "reload", unit_file(unit["name"]))
    return [report.report(machine, unit, since, done.errors)] if done.code else []


def running(machine: LocalHost, plan: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the record of each running unit; for a unit without a record, return its plan."""
    states = local.states(machine, [unit["name"] for unit in plan["units"]])
    found = {}
    for unit in plan["units"]:
        state = states[unit["name"]]
        if state["ActiveState"] not in ("inactive", "failed"):
            found[unit["name"]] = record.recorded(machine, unit["name"], state["InvocationID"]) or unit
    return found


def ordered(
    todo: list[dict[str, Any]], records: dict[str, dict[str, Any]], plan: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return units in plan order, or first those that shrink if memory would be exceeded during the restarts."""
    used = {name: record["memory_bytes"] or 0 for name, record in records.items()}
    before, limit = dict(used), plan["memory_bytes"]
    fits = True
    for unit in todo:
        used[unit["name"]] = unit["memory_bytes"] or 0
        fits = fits and (limit is None or sum(used.values()) <= limit)
    if fits:
        return list(todo)
    return sorted(todo, key=lambda unit: (unit["memory_bytes"] or 0) >= before.get(unit["name"], 0))


def port_holders(unit: dict[str, Any], later: list[dict[str, Any]], records: dict[str, dict[str, Any]]) -> list[str]:
    """Return the units that restart later and still use the port that this unit needs."""
    held = {other["name"]: records.get(other["name"], {}).get("listen") for other in later}
    return [name for name, listen in held.items() if listen is not None and listen == unit["listen"]]
