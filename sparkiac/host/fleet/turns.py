"""Endpoints that do not answer because they are not in the current turn.

The timer cannot read the state of other hosts. The turn whose endpoints fail least is taken as the current one.
"""

from __future__ import annotations

from typing import Any


def resting(entries: list[dict[str, Any]], faults: dict[str, str]) -> set[str]:
    """Return the names of the endpoints that run only in other turns than the current one."""
    turns = list(dict.fromkeys(turn for entry in entries for turn in entry["turns"]))
    if not turns:
        return set()
    current = min(turns, key=lambda turn: failing(entries, faults, turn))  # of equal turns, the first one
    return {entry["name"] for entry in entries if entry["turns"] and current not in entry["turns"]}


def failing(entries: list[dict[str, Any]], faults: dict[str, str], turn: str) -> float:
    """Return the share of the endpoints of a turn that fail; what always runs does not count."""
    found = [bool(faults[entry["name"]]) for entry in entries if turn in entry["turns"]]
    return sum(found) / len(found)
