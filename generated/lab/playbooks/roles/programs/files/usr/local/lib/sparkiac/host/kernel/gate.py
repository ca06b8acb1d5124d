"""The gate of a kernel: units start, the preflight passes, and answers are right and as fast as before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .. import local
from .. import state as switch_state
from ..local import LocalHost, launcher
from ..switch import actions, report, store

SLOWEST = 0.7
"""Share of the former speed below which a kernel is refused."""


def units_of(machine: LocalHost) -> tuple[store.Generation, list[dict[str, Any]]]:
    """Return the committed generation, and its units that run in the current turn."""
    state = switch_state.read(machine)
    generation = store.load(machine, state.committed)
    return generation, store.running_in(generation.plan, store.current_turn(generation.plan, state.turn))


def grouped(machine: LocalHost) -> bool:
    """Return whether this host changes together with others."""
    return units_of(machine)[0].plan["group"] is not None


def faults(machine: LocalHost, speeds: dict[str, float]) -> list[str]:
    """Return why the kernel of this boot is refused; each check only if the one before it has passed."""
    generation, units = units_of(machine)
    names = [unit["name"] for unit in units]
    return (
        list(not_ready(machine, units))
        or list(preflight(machine))
        or report.gate(machine, generation, names)
        or list(slower(machine, speeds))
    )


def not_ready(machine: LocalHost, units: list[dict[str, Any]]) -> Iterator[str]:
    """Start the units, and yield a report of each that does not become ready."""
    since = report.position(machine)
    for unit in units:
        done = machine.run("systemctl", "start", local.unit_file(unit["name"]))
        if local.states(machine, [unit["name"]])[unit["name"]]["ActiveState"] not in actions.RUNNING:
            yield report.report(machine, unit, since, done.errors)


def preflight(machine: LocalHost) -> Iterator[str]:
    """Yield the failed checks of this host, among them those of the links of its groups."""
    done = machine.run("python3", str(launcher("preflight")), "--json")
    if done.code and not done.output:
        yield f"the preflight cannot run: {done.errors.strip()}"
    for check in json.loads(done.output)["checks"] if done.output else ():
        if check["state"] == "FAIL":
            yield " ".join(line.strip() for line in check["lines"])


def speeds(machine: LocalHost) -> dict[str, float]:
    """Return unit → tokens/s of its answer of 256 tokens, the median of three; without those that give none."""
    found = ((unit["name"], speed(machine, unit["name"])) for unit in units_of(machine)[1] if unit["promise"])
    return {name: value for name, value in found if value}


def speed(machine: LocalHost, unit: str) -> float:
    """Return the tokens/s of a unit; 0 if it cannot be measured."""
    done = machine.run("python3", str(machine.path(report.PROBE)), "speed", *report.places(machine), unit)
    return 0.0 if done.code else float(done.output)


def slower(machine: LocalHost, former: dict[str, float]) -> Iterator[str]:
    """Yield the units that are much slower than before; say which cannot be compared."""
    for unit in units_of(machine)[1]:
        name = unit["name"]
        if unit["promise"] and name not in former:
            local.say(f"{name}: its speed was not measured before, and is not compared")
        elif name in former and (now := speed(machine, name)) < SLOWEST * former[name]:
            yield f"{name} answers with {now:.1f} tokens/s, before it was {former[name]:.1f}"
