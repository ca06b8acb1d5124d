"""Which models fit beside one another on one machine: arithmetic on the sizes that sources give, and no proof.

An engine takes its weights, the drafter's, and an overhead; the machine keeps a reserve for the system. What is left
is for KV caches, and is divided evenly. Whether that is enough for a context is not asked here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sparkiac.model.facts import ModelFacts, WeightSizes

OVERHEAD_GIB: Final = 3.0
"""What an engine takes beside weights and KV cache: 2.9 GiB in the one start that a source logged (0.85 of 119.2 GiB
less 21.94 GiB of weights and a pool of 76.49 GiB; Spark guide L345-359)."""
RESERVE_GIB: Final = 12.0
"""What the system, Docker and the page cache keep. sparkiac's own choice, from no source."""
GIB_PER_GB: Final = 10**9 / 2**30


class Load(NamedTuple):
    """What one entry loads into memory."""

    name: str
    gib: float | None
    """Weights and drafter; None where a part of it is not known."""
    basis: str
    """`loaded`, `on disk`, or what is not known."""


class Share(NamedTuple):
    """The part of the machine's memory that an engine could be given, in hundredths."""

    name: str
    least: float
    """What weights and overhead alone take, rounded up."""
    even: float
    """The same with an even part of what is left, rounded down."""


class Room(NamedTuple):
    """Several entries on one machine."""

    loads: tuple[Load, ...]
    memory_gib: float
    needed_gib: float | None
    """All loads and overheads, and the reserve; None where a load is not known."""
    spare_gib: float | None
    """What is left for KV caches; below zero, what is missing."""
    shares: tuple[Share, ...]
    """One for each load, if they are all known."""

    @property
    def fits(self) -> bool | None:
        """Whether each engine can be given a share that holds at least its weights; None is unknown."""
        if self.spare_gib is None:
            return None
        return self.spare_gib >= 0 and all(share.least <= share.even for share in self.shares)


def load(name: str, facts: ModelFacts, speculative: Mapping[str, Any] | None, *, nodes: int = 1) -> Load:
    """Say what an entry loads on one machine."""
    size = weights_gib(facts.weights)
    if nodes > 1:
        return Load(name, None, f"spans {nodes} machines")
    if size is None:
        return Load(name, None, "size of the weights unknown")
    gib, basis = size
    if (speculative or {}).get("model") is None:
        return Load(name, gib, basis)
    drafter_gb = facts.weights.drafter_gb if facts.weights else None
    if drafter_gb is None:
        return Load(name, None, "size of the drafter unknown")
    return Load(name, gib + drafter_gb * GIB_PER_GB, basis)


def weights_gib(weights: WeightSizes | None) -> tuple[float, str] | None:
    """Give the size of the weights and whether it is that of the loaded ones, which is the better figure."""
    match weights:
        case None:
            return None
        case _ if weights.loaded_gib is not None:
            return weights.loaded_gib, "loaded"
        case _ if weights.loaded_gb is not None:
            return weights.loaded_gb * GIB_PER_GB, "loaded"
        case _ if weights.disk_gb is not None:
            return weights.disk_gb * GIB_PER_GB, "on disk"
        case _:
            return None


def together(loads: Sequence[Load], *, memory_gib: float) -> Room:
    """Put all loads on one machine."""
    sizes = [load.gib + OVERHEAD_GIB for load in loads if load.gib is not None]
    if len(sizes) < len(loads):
        return Room(tuple(loads), memory_gib, None, None, ())
    needed_gib = sum(sizes) + RESERVE_GIB
    spare_gib = memory_gib - needed_gib
    part = spare_gib / len(loads)
    shares = (
        Share(load.name, _hundredths(size / memory_gib, math.ceil), _hundredths((size + part) / memory_gib, math.floor))
        for load, size in zip(loads, sizes, strict=True)
    )
    return Room(tuple(loads), memory_gib, needed_gib, spare_gib, tuple(shares))


def _hundredths(share: float, to: Any) -> float:  # noqa: ANN401  math.ceil or math.floor
    """Round to what people write; a share that is a hundredth but for the last bits of a float stays one."""
    return float(to(round(share * 100, 6)) / 100)
