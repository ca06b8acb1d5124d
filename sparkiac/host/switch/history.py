"""The switches of this host: to which generation, by which apply of which commit, when, and with which outcome.

This is no part of a generation, because several commits can have the same one.
"""

from __future__ import annotations

import json
import time
from typing import NamedTuple

from .. import durable
from ..contract import validated
from ..local import LocalHost

HISTORY = "/var/lib/sparkiac/history.json"
KEPT = 50
"""Switches that are remembered."""
COMMITTED = "committed"


class Applied(NamedTuple):
    """A switch that has ended."""

    generation: str
    commit: str | None
    """None if the tree of the repository was not clean, or there was none."""
    run: str
    """Name of the apply that brought the generation: the same on all hosts of the apply."""
    time: int
    """Its end, in seconds since 1970."""
    outcome: str
    """`committed` or `back`."""
    changes: list[str]
    """What it did with units, such as `restart sparkiac-chat`."""


def read(machine: LocalHost) -> list[Applied]:
    """Return the switches, the last one at the end; none if the file is missing or damaged."""
    try:
        found = validated("program", HISTORY, json.loads(machine.read(HISTORY)), list[Applied])
    except (OSError, ValueError):
        return []
    return [Applied(**each) for each in found]


def add(machine: LocalHost, switch: Applied) -> None:
    """Remember a switch that ends now; one to a generation that ran before has the apply and commit of that time."""
    switches = read(machine)
    former = last(switches, switch.generation) or switch
    added = switch._replace(commit=switch.commit or former.commit, run=former.run, time=int(time.time()))
    text = json.dumps([each._asdict() for each in [*switches, added][-KEPT:]], indent=1)
    durable.write(machine.path(HISTORY), text.encode() + b"\n")


def last(switches: list[Applied], generation: str | None) -> Applied | None:
    """Return the last switch that committed a generation."""
    known = [each for each in switches if (each.generation, each.outcome) == (generation, COMMITTED)]
    return known[-1] if known else None
