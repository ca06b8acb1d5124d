"""Which generation this host runs: one file, so that a power cut leaves the state before or after a change.

`committed` passed its gate last, `previous` is the one before it. `pending` exists only during a switch; `current` is
then the generation that is being tried. Whoever finds a pending switch that no process works on goes back to
`committed`. A member of a group that has voted waits for the group's decision first.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from . import durable
from .contract import decoded, validated
from .local import LocalHost

STATE = "/var/lib/sparkiac/state.json"
TRYING, VOTED, RETURNING = "trying", "voted", "returning"


class Pending(NamedTuple):
    """A switch that has begun and has not ended."""

    generation: str
    run: str
    token: str
    """Secret of the run, with which the hosts of a group identify themselves."""
    phase: str
    also: list[str]
    """Units that restart even if their files did not change, because their group restarts."""
    turn: str | None = None
    """Turn that is being tried."""


class Decision(NamedTuple):
    """What the hosts of a group do; kept by the coordinator until every member has done it."""

    run: str
    token: str
    commit: bool
    waiting: list[str]
    """Members that have not confirmed it."""


class State(NamedTuple):
    """Generations by their role."""

    current: str | None = None
    previous: str | None = None
    committed: str | None = None
    pending: Pending | None = None
    decision: Decision | None = None
    turn: str | None = None
    """Current turn; it passed its gate together with `committed`."""
    secret: str | None = None
    """Token of the last switch of the group: its hosts have it in common, also without a controller."""

    def generations(self) -> set[str]:
        """Return the generations that must not be removed."""
        named = {self.current, self.previous, self.committed}
        return {each for each in named if each} | ({self.pending.generation} if self.pending else set())


def read(machine: LocalHost) -> State:
    """Return the state of this host; a host without the file has no generation."""
    try:
        text = machine.read(STATE)
    except FileNotFoundError:
        return State()
    found: dict[str, Any] = validated("program", STATE, decoded(STATE, text), State)
    for key, kind in (("pending", Pending), ("decision", Decision)):
        found[key] = found[key] and kind(**found[key])
    return State(**found)


def readable(machine: LocalHost) -> State:
    """Return the state of this host; that of a host without a generation if the file is damaged."""
    try:
        return read(machine)
    except (OSError, ValueError):
        return State()


def write(machine: LocalHost, state: State) -> None:
    """Replace the state of this host."""
    found = state._asdict()
    found["pending"] = state.pending._asdict() if state.pending else None
    found["decision"] = state.decision._asdict() if state.decision else None
    durable.write(machine.path(STATE), json.dumps(found, indent=1).encode() + b"\n")


def shown(state: State) -> dict[str, Any]:
    """Return the state without secrets, as JSON."""
    pending = state.pending and {"generation": state.pending.generation, "phase": state.pending.phase}
    return {**{key: getattr(state, key) for key in ("current", "previous", "committed", "turn")}, "pending": pending}
