"""A switch in progress, and its result: what was done, why it went back, and what runs now."""

from __future__ import annotations

import json
import time
from typing import Any, NamedTuple

from .. import local
from .. import state as switch_state
from ..local import LocalHost
from . import history
from .actions import removals
from .history import COMMITTED, Applied
from .store import Generation
from .vote import Alone, Coordinator, Member

RESULT = "/run/sparkiac/switch.json"
BACK = "back"


class Request(NamedTuple):
    """What to switch to."""

    generation: str
    run: str
    token: str
    also: list[str]
    turn: str | None = None
    """Turn to switch to; None stays in the current one."""
    commit: str | None = None
    """Commit of the repository that is applied, if it is known."""


class Switch(NamedTuple):
    """A switch in progress."""

    machine: LocalHost
    request: Request
    new: Generation
    old: Generation
    votes: Alone | Coordinator | Member
    turn: str | None
    """Turn after the switch."""
    former: str | None
    """Turn before it."""

    @property
    def members(self) -> list[str]:
        """Hosts that switch together; empty for one host."""
        group = self.new.plan["group"]
        return group["members"] if group else []

    @property
    def coordinates(self) -> bool:
        """Whether this host decides for its group."""
        group = self.new.plan["group"]
        return bool(group) and group["coordinator"] == self.new.plan["host"]


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
    changes = [f"{each.action} {each.unit}" for each in removals(switch.new.plan, switch.old.plan)]
    changes += [f"{each['action']} {each['unit']}" for each in found["done"] if each["action"] != "wait"]
    history.add(machine, Applied(request.generation, request.commit, request.run, 0, outcome, changes))
    local.write(machine, RESULT, json.dumps(result))
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
