"""The result of a switch: what was done, why it went back, and what runs now."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import switch_state
import units_host

if TYPE_CHECKING:
    from switch_run import Switch

RESULT = "/run/sparkiac/switch.json"
COMMITTED, BACK = "committed", "back"


def finished(switch: Switch, began: float, found: dict[str, Any]) -> dict[str, Any]:
    """Tell the group that this host is done, write the result for the waiting process, and return it."""
    machine, request = switch.machine, switch.request
    outcome = found.get("outcome", COMMITTED)
    result = {
        "run": request.run,
        "generation": request.generation,
        "turn": switch.turn,
        "outcome": outcome,
        "changed": outcome == BACK or any(each["action"] != "wait" for each in found["done"]) or is_new(switch),
        "done": found["done"],
        "failed": [with_ending(each, found.get("ending", "")) for each in found["failed"]],
        "saved": found.get("saved", []),
        "seconds": int(time.monotonic() - began),
    }
    units_host.write(machine, RESULT, json.dumps(result))
    waiting = switch.votes.finish()
    state = switch_state.read(machine)
    if state.decision is not None:
        kept = state.decision._replace(waiting=waiting) if waiting else None
        switch_state.write(machine, state._replace(decision=kept))
    return result


def is_new(switch: Switch) -> bool:
    """Return whether the switch was to another generation or turn."""
    return (switch.new.name, switch.turn) != (switch.old.name, switch.former)


def ending(switch: Switch, failed: list[str]) -> str:
    """Return what was done about a failure."""
    old = switch.old
    if old.name is None:
        return "The host had no earlier generation: the new units were stopped and removed."
    former = f"generation {old.name}" + (f" in the turn {switch.former}" if switch.former else "")
    if failed:
        return f"The host went back to {former}, but a unit of it did not become ready either."
    return f"The host went back to {former}, which runs again."


def with_ending(report: str, text: str) -> str:
    """Return a report with what was done about it, in at most ten lines."""
    lines = report.splitlines()
    return "\n".join([*lines[: 10 - bool(text)], *([text] if text else [])])
