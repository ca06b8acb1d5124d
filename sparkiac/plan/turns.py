"""Turns of a host: deployments and services that share it and never run together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sparkiac.memory.budget import HostBudget
from sparkiac.model.inventory import Inventory, Turn


class TurnMembers(NamedTuple):
    """A turn of the inventory."""

    name: str
    members: frozenset[str]
    """Deployments and services that it lists."""
    at: str | None
    """Time of the day at which it begins, if it has one."""


class PlannedTurn(NamedTuple):
    """A turn of one host."""

    name: str
    at: str | None
    units: frozenset[str]
    """Names of the deployments and services of the host that run in it, with those that always run."""
    budget: HostBudget
    """Memory budget of the host in this turn."""


def turns(written: Inventory) -> tuple[TurnMembers, ...]:
    """Return the turns of an inventory in their order, whether written in the short or the long form."""
    return tuple(
        TurnMembers(name, frozenset(turn.run), turn.at)
        if isinstance(turn, Turn)
        else TurnMembers(name, frozenset(turn), None)
        for name, turn in written.turns.items()
    )


def running(found: Iterable[TurnMembers], name: str) -> tuple[str, ...]:
    """Return the turns in which a deployment or service runs; empty if it always runs."""
    return tuple(turn.name for turn in found if name in turn.members)


def of_host(found: Iterable[TurnMembers], names: Iterable[str]) -> list[tuple[TurnMembers, frozenset[str]]]:
    """Return each turn with the names that run in it on a host; nothing if none of its names takes turns."""
    listed, here = list(found), frozenset(names)
    taking = frozenset[str]().union(*(turn.members for turn in listed))
    return [(turn, here - (taking - turn.members)) for turn in listed] if taking & here else []
