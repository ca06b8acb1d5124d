"""What the fleet timer remembers between two runs, and which changes it reports.

A run counts as a unit of time here, because the clock of a host may be wrong or change; times are only for messages.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple, TypedDict

from .. import durable
from ..contract import validated

WORKING, FAILING, FLAPPING = "working", "failing", "flapping"
FLAPPING_CHANGES = 5
"""So many changes within FLAPPING_RUNS runs are reported as one state, `flapping`."""
FLAPPING_RUNS = 12
STABLE_RUNS = 4
"""A flapping endpoint that has not changed for so many runs is reported as working or failing again."""
DAY_S = 86_400
UNSENT = 20
"""Messages that are kept for a channel that does not accept them; older ones are dropped."""
FILE = "state.json"


class Alert(TypedDict):
    """The part of a message about one endpoint."""

    name: str
    host: str | None
    url: str
    state: str
    again: bool
    since: float
    evidence: str


class Message(TypedDict):
    """One message for all changes of a run, with its parts for the webhook."""

    time: float
    text: str
    alerts: list[Alert]


class Record(NamedTuple):
    """What is known of one endpoint."""

    observed: str = WORKING
    """`working` or `failing`, at the last run."""
    reported: str = WORKING
    """State in the last message: also `flapping`."""
    since: float = 0.0
    """Time of the first run with the observed state."""
    worked: float | None = None
    """Time of the last run in which it worked."""
    reported_run: int = 0
    """Run of the last message about it."""
    changes: list[int] = []  # noqa: RUF012 - never changed in place
    """Runs in which the observed state changed, of the last FLAPPING_RUNS runs."""
    evidence: str = ""
    """Why it fails."""
    queued: str | None = None
    """Its token counters at the last run, if requests waited there."""


class Moment(NamedTuple):
    """One run."""

    run: int
    time: float
    period_s: int


class State(NamedTuple):
    """Everything that is remembered."""

    saved: int
    """How often it was written; of two files, the one with the higher number is newer."""
    run: int
    records: dict[str, Record]
    unsent: dict[str, list[Message]]
    """Channel → messages that it has not accepted, the oldest first."""


class Change(NamedTuple):
    """A state that a message reports."""

    state: str
    again: bool
    """Whether it was reported before: a reminder."""
    before: Record
    after: Record


def observe(
    before: Record | None, fault: str, moment: Moment, queued: str | None = None
) -> tuple[Record, Change | None]:
    """Return the new record of an endpoint, and what to report; an empty fault means that it works."""
    old = before or Record(since=moment.time, reported_run=moment.run)
    observed = FAILING if fault else WORKING
    changed = observed != old.observed
    changes = [run for run in old.changes if run > moment.run - FLAPPING_RUNS] + [moment.run] * changed
    reported = reported_state(old, observed, changes, moment.run)
    due = reported != WORKING and (moment.run - old.reported_run) * moment.period_s >= DAY_S
    report = reported != old.reported or due
    new = Record(
        observed=observed,
        reported=reported,
        since=moment.time if changed else old.since,
        worked=old.worked if fault else moment.time,
        reported_run=moment.run if report else old.reported_run,
        changes=[] if old.reported == FLAPPING != reported else changes,
        evidence=fault,
        queued=queued,
    )
    return new, Change(reported, reported == old.reported, old, new) if report else None


def reported_state(old: Record, observed: str, changes: list[int], run: int) -> str:
    """Return what a message would say of an endpoint now."""
    if old.reported == FLAPPING:
        stable = not changes or run - changes[-1] >= STABLE_RUNS
        return observed if stable else FLAPPING
    return FLAPPING if len(changes) >= FLAPPING_CHANGES else observed


class Store:
    """The state file. Of its two places, the second one is in memory.

    It is used while the disk is full, because without any state each run would send the same message again.
    """

    def __init__(self, disk: Path, memory: Path) -> None:
        """Store the two directories."""
        self.disk, self.memory = disk / FILE, memory / FILE

    def load(self) -> tuple[State, list[str]]:
        """Return the state of the last run, and what is wrong with files that cannot be read."""
        found, faults = [State(0, 0, {}, {})], []
        for path in (self.disk, self.memory):
            try:
                found.append(parsed(path.read_text(encoding="utf-8")))
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                faults.append(f"{path} cannot be used, failures may be reported again: {error}")
        return max(found, key=lambda state: state.saved), faults

    def save(self, state: State) -> str:
        """Write the state; return why the disk does not take it. Raise OSError if it cannot be written at all."""
        text = dumped(state)
        try:
            durable.write(self.disk, text)
        except OSError as error:
            durable.write(self.memory, text)
            return f"{self.disk.parent} cannot be written: {error.strerror or error}"
        return ""


def dumped(state: State) -> bytes:
    """Return the state as JSON."""
    records = {name: record._asdict() for name, record in state.records.items()}
    return json.dumps({**state._asdict(), "records": records}, indent=1).encode() + b"\n"


def parsed(text: str) -> State:
    """Return the state from JSON; raise ValueError if it was damaged or written by another version."""
    found = validated("program", FILE, json.loads(text), State)
    records = {name: Record(**record) for name, record in found["records"].items()}
    return State(found["saved"], found["run"], records, found["unsent"])
