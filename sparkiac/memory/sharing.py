"""Which models fit together on one machine: a rough sum of the sizes that sources state.

Each engine needs its weights, those of the drafter, and an overhead; the machine keeps a reserve for the system. The
rest is for KV caches and is divided evenly. Whether it is enough for a context length is not checked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sparkiac.memory.budget import HostBudget, reserve
from sparkiac.memory.overhead import RUNTIME_BYTES, RUNTIME_SOURCE
from sparkiac.memory.values import Term, Unknown, ceil_div, least_bytes
from sparkiac.model.facts import ModelFacts


class Portion(NamedTuple):
    """Share of the machine's memory for one engine, in hundredths."""

    name: str
    least: float
    """Share of the memory for weights and overhead without KV cache, rounded up."""
    even: float
    """Share that also includes an equal part of the remaining memory, rounded down."""


class Room(NamedTuple):
    """Several models on one machine."""

    weights: tuple[Term, ...]
    """Weights and drafter of each model. The source is `loaded`, `on disk`, or the reason why the size is unknown."""
    host: HostBudget
    """Weights, overheads and the reserve."""
    portions: tuple[Portion, ...]
    """Share of each model; empty unless all sizes are known."""

    @property
    def fits(self) -> bool | None:
        """Whether every engine can get a share that holds at least its weights; None if unknown."""
        headroom = self.host.headroom_bytes
        if isinstance(headroom, Unknown):
            return None
        return headroom >= 0 and all(portion.least <= portion.even for portion in self.portions)


def weights(name: str, facts: ModelFacts, *, drafter: bool, nodes: int = 1) -> Term:
    """Return the memory that the weights of a model need on one machine, with those of its drafter."""
    size = facts.weights_bytes
    if nodes > 1:
        return Term(name, Unknown(("weights",)), f"spans {nodes} machines")
    if facts.weights is None or size is None:
        return Term(name, Unknown(("weights",)), "size of the weights unknown")
    basis = "loaded" if facts.weights.loaded else "on disk"
    if not drafter:
        return Term(name, size, basis)
    if facts.drafter_bytes is None:
        return Term(name, Unknown(("drafter",)), "size of the drafter unknown")
    return Term(name, size + facts.drafter_bytes, basis)


def on_one_machine(models: Sequence[Term], *, total_bytes: int) -> Room:
    """Return the memory of a machine that runs all these models."""
    overheads = (Term(f"{each.name}: runtime", RUNTIME_BYTES, RUNTIME_SOURCE, assumed=True) for each in models)
    host = HostBudget(total_bytes, (*models, *overheads, reserve(total_bytes)))
    headroom = host.headroom_bytes
    if isinstance(headroom, Unknown):
        return Room(tuple(models), host, ())
    even = headroom // len(models)
    needs = [(each.name, least_bytes((each,)) + RUNTIME_BYTES) for each in models]
    portions = (
        Portion(name, ceil_div(100 * size, total_bytes) / 100, 100 * (size + even) // total_bytes / 100)
        for name, size in needs
    )
    return Room(tuple(models), host, tuple(portions))
