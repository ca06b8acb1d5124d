"""Turns: units that share a host and never run together. The state of the host says which turn is the current one."""

from __future__ import annotations

from typing import Any


def current(plan: dict[str, Any], turn: str | None) -> str | None:
    """Return the turn of a host with this plan: the given one, or the first one if the plan does not have it."""
    return turn if turn in plan["turns"] else next(iter(plan["turns"]), None)


def runs(unit: dict[str, Any], turn: str | None) -> bool:
    """Return whether a unit runs in a turn; a unit of no turn always runs."""
    return not unit["turns"] or turn in unit["turns"]


def running(plan: dict[str, Any], turn: str | None) -> list[dict[str, Any]]:
    """Return the units that run in a turn, in start order."""
    return [unit for unit in plan["units"] if runs(unit, turn)]


def resting(plan: dict[str, Any], turn: str | None) -> list[dict[str, Any]]:
    """Return the units of other turns, clients before their servers."""
    return [unit for unit in reversed(plan["units"]) if not runs(unit, turn)]
