"""Metrics of the generation and the lease of this host."""

from __future__ import annotations

from collections.abc import Iterator

from .. import state as switch_state
from ..local import LocalHost
from ..switch import actions, drift
from ..switch import lease as switch_lease


def samples(machine: LocalHost) -> Iterator[tuple[str, dict[str, str], float]]:
    """Return what is committed, whether a switch is pending, how many files differ, and the age of the lease."""
    state = switch_state.read(machine)
    yield "sparkiac_generation_known", {}, int(state.committed is not None)
    yield "sparkiac_generation_pending", {}, int(state.pending is not None)
    if state.committed is not None:
        yield "sparkiac_generation_info", {"generation": state.committed}, 1
        if state.turn is not None:
            yield "sparkiac_turn_info", {"turn": state.turn}, 1
        listed = drift.files_of(machine, state.committed) if state.pending is None else []
        changed = sum(not actions.same_file(machine, each, each["sha256"]) for each in listed)
        yield "sparkiac_generation_changed_files", {}, changed
    lease = switch_lease.holder(machine)
    yield "sparkiac_lease_age_seconds", {}, lease["age_s"] if lease else 0
