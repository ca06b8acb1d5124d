"""Compare a vLLM startup log with the plan: what was predicted and measured, and what makes the next plan exact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.memory import budget, startup
from sparkiac.memory.startup import Compared, Startup
from sparkiac.memory.values import GIB, Unknown, known_bytes
from sparkiac.plan import labels
from sparkiac.plan.numbers import count, gib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.model.inventory import Measured
    from sparkiac.plan.parts import Proof
    from sparkiac.plan.values import HostPlan, Plan

_ROUNDED: Final = GIB // 50
"""Two figures of a log that are this near may be the same: each is rounded to 0.01 GiB."""

SIZES: Final = ("total memory", "weights", "overhead", "CUDA graphs", "KV cache")
"""Figures that are sizes; the others are counts."""
ORDER: Final = (*SIZES, "tokens", "concurrency", "block size")


class StartupComparison(NamedTuple):
    """Plan and startup log of one deployment."""

    name: str
    host: str
    compared: tuple[Compared, ...]
    measured: Measured
    total_bytes: int | None
    """Memory of the host as CUDA sees it, where the inventory says otherwise."""
    notes: tuple[str, ...]
    """What makes the comparison less than exact."""


def servers(plan: Plan) -> dict[str, HostPlan]:
    """Give the host of each deployment that answers: of a group the node that leads."""
    return {
        container.name: host
        for host in plan.hosts
        for container in host.containers
        if container.kind == "deployment" and (container.server.node is None or container.server.node[0] == 0)
    }


def compare_log(name: str, host: HostPlan, log: str) -> StartupComparison | None:
    """Compare the startup log of a deployment with its proof; None if no line of the log is understood."""
    found, proof = startup.read(log), host.proofs[name]
    if found == Startup():
        return None
    total = _total(found, host)
    planned = _planned(proof, total or host.memory_bytes)
    requested = _requested(found.requested_bytes, planned)
    measured = startup.calibrate(found._replace(requested_bytes=requested))
    measured = measured.model_copy(update={"weights_bytes": _alone(measured.weights_bytes, proof)})
    rows = sorted(_compared(found, host, proof, measured), key=lambda row: ORDER.index(row.name))
    return StartupComparison(
        name, host.name, tuple(rows), measured, total, tuple(_notes(found, proof, planned, measured))
    )


def _total(found: Startup, host: HostPlan) -> int | None:
    seen = found.visible_bytes
    if seen is None or (host.memory_bytes is not None and abs(seen - host.memory_bytes) < _ROUNDED // 2):
        return None
    return seen


def _alone(loaded: int | None, proof: Proof) -> int | None:
    """Take the drafter off what was loaded: the log's figure holds both, and the plan keeps them apart."""
    drafter = next((term.size_bytes for term in proof.server.inside if term.name == "drafter"), None)
    return loaded if loaded is None or drafter is None else max(0, loaded - drafter)


def _planned(proof: Proof, total: int | None) -> int | None:
    """Give what the server asks for on a host with this memory; None where a size of its pool is told."""
    options = proof.options
    if isinstance(options, Unknown) or options.kv_cache_memory_bytes is not None or total is None:
        return None
    return budget.requested_bytes(total, options.gpu_memory_utilization)


def _requested(told: int | None, planned: int | None) -> int | None:
    """Give what was asked for: as the next plan works it out, if the log says the same as far as it is rounded."""
    if told is None or planned is None:
        return planned if told is None else told
    return planned if abs(told - planned) <= _ROUNDED else told


def _compared(found: Startup, host: HostPlan, proof: Proof, measured: Measured) -> Iterator[Compared]:
    server = proof.server
    if not server.inside:
        return
    cache = None if isinstance(proof.cache, Unknown) else proof.cache
    yield from startup.compare(found._replace(weights_bytes=measured.weights_bytes), server=server, cache=cache)
    beside = [term for term in server.inside if term.name not in {"weights", "drafter"}]
    graphs = next((term.size_bytes for term in server.outside if term.name == "CUDA graphs"), None)
    for name, computed, logged in (
        ("total memory", host.memory_bytes, found.visible_bytes),
        ("overhead", known_bytes(beside), measured.overhead_bytes),
        ("CUDA graphs", graphs, measured.graphs_bytes),
    ):
        if computed is not None and logged:
            yield Compared(name, computed, logged)


def _notes(found: Startup, proof: Proof, planned: int | None, measured: Measured) -> Iterator[str]:
    if isinstance(proof.options, Unknown):
        yield f"Nothing can be compared: {labels.unknown(proof.options)}."
        return
    context = None if isinstance(proof.cache, Unknown) else proof.cache.context
    if found.context is not None and context is not None and found.context != context:
        yield f"The log is of requests of {count(found.context)} tokens, and the plan of {count(context)}."
    asked = found.requested_bytes
    if asked is not None and planned is not None and abs(asked - planned) > _ROUNDED:
        yield f"The server of the log asked for {gib(asked)}, and the one of the plan asks for {gib(planned)}."
    if measured.overhead_bytes is None:
        yield "The log does not tell what is taken beside weights and KV cache."
