"""How servers share the memory of a machine, and which models fit together on one: a rough sum of stated sizes.

Each engine needs its weights, those of the drafter, and an overhead; the machine keeps a reserve for the system. The
rest is for KV caches and is divided evenly. A recipe that is not planned yet says nothing about the KV cache that its
context needs; a planned server claims it too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sparkiac.memory.budget import HostBudget, reserve
from sparkiac.memory.overhead import RUNTIME_BYTES, RUNTIME_SOURCE
from sparkiac.memory.values import Term, Unknown, ceil_div, least_bytes
from sparkiac.model.facts import ModelFacts


class Claim(NamedTuple):
    """Share of the memory that a server asks for, in hundredths."""

    name: str
    total_bytes: int
    """Memory that it takes its share of."""
    least: int
    """Smallest share with which it starts and handles its workload."""
    most: int
    outside_bytes: int = 0
    """Memory that it uses in addition to its share."""

    def size_bytes(self, hundredths: int) -> int:
        """Return the memory that it takes with a share."""
        return self.total_bytes * hundredths // 100 + self.outside_bytes


class SharedMemory(NamedTuple):
    """Memory that several servers share."""

    where: str
    """Host, and its turn."""
    names: frozenset[str]
    size_bytes: int

    def missing_bytes(self, claims: Collection[Claim], shares: Mapping[str, int]) -> int:
        """Return by how much these shares exceed it; negative if memory is left."""
        return sum(each.size_bytes(shares[each.name]) for each in claims if each.name in self.names) - self.size_bytes


def least(claims: Collection[Claim]) -> dict[str, int]:
    """Return the smallest share of each server."""
    return {each.name: each.least for each in claims}


def divided(claims: Collection[Claim], limits: Collection[SharedMemory]) -> dict[str, int] | None:
    """Return the share of each server, in hundredths; None if even the smallest ones do not fit.

    What they leave is divided evenly, one hundredth at a time, and nobody gets more than it asks for.
    """

    def fit(shares: Mapping[str, int]) -> bool:
        return all(limit.missing_bytes(claims, shares) <= 0 for limit in limits)

    shares, growing = least(claims), list(claims)
    if not fit(shares):
        return None
    while growing:
        for claim in tuple(growing):
            more = shares | {claim.name: shares[claim.name] + 1}
            if more[claim.name] <= claim.most and fit(more):
                shares = more
            else:
                growing.remove(claim)
    return shares


class Portion(NamedTuple):
    """Share of the machine's memory for one engine, in hundredths."""

    name: str
    least: float
    """Share of the memory for weights and overhead without KV cache, rounded up."""
    even: float
    """Share that also includes an equal part of the remaining memory."""


class Room(NamedTuple):
    """Several models on one machine."""

    weights: tuple[Term, ...]
    """Weights and drafter of each model. The source is `loaded`, `on disk`, or the reason why the size is unknown."""
    host: HostBudget
    """Weights, overheads and the reserve."""
    portions: tuple[Portion, ...]
    """Share of each model; empty unless all sizes are known and fit."""

    @property
    def fits(self) -> bool | None:
        """Whether every engine can get a share that holds at least its weights; None if unknown."""
        return None if isinstance(self.host.headroom_bytes, Unknown) else bool(self.portions)


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
    kept = reserve(total_bytes)
    host = HostBudget(total_bytes, (*models, *overheads, kept))
    if isinstance(host.headroom_bytes, Unknown):
        return Room(tuple(models), host, ())
    # Two of them can have one name.
    needs = {str(index): least_bytes((each,)) + RUNTIME_BYTES for index, each in enumerate(models)}
    claims = [Claim(name, total_bytes, ceil_div(100 * size, total_bytes), 100) for name, size in needs.items()]
    shares = divided(claims, (SharedMemory("", frozenset(needs), total_bytes - least_bytes((kept,))),))
    portions = (
        Portion(model.name, claim.least / 100, shares[claim.name] / 100) if shares else None
        for model, claim in zip(models, claims, strict=True)
    )
    return Room(tuple(models), host, tuple(filter(None, portions)))
