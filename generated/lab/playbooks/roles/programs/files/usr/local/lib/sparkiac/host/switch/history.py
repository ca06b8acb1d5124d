"""The switches of this host: to which generation, from which commit of the repository, when, and with which outcome.

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
    time: int
    """Its end, in seconds since 1970."""
    outcome: str
    """`committed` or `back`."""


def read(machine: LocalHost) -> list[Applied]:
    """Return the switches, the last one at the end; none if the file is missing or damaged."""
    try:
        found = validated("program", HISTORY, json.loads(machine.read(HISTORY)), list[Applied])
    except (OSError, ValueError):
        return []
    return [Applied(**each) for each in found]


def add(machine: LocalHost, generation: str, commit: str | None, outcome: str) -> None:
    """Remember a switch. One without a commit, such as a rollback, has that of the generation's former switch."""
    former = read(machine)
    added = Applied(generation, commit or commit_of(former, generation), int(time.time()), outcome)
    text = json.dumps([each._asdict() for each in [*former, added][-KEPT:]], indent=1)
    durable.write(machine.path(HISTORY), text.encode() + b"\n")


def commit_of(switches: list[Applied], generation: str | None) -> str | None:
    """Return the commit from which a generation was last applied, if it is known."""
    known = [each for each in switches if (each.generation, each.outcome) == (generation, COMMITTED)]
    return known[-1].commit if known else None
