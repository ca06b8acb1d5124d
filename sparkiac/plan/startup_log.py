"""Compare the plan with a vLLM startup log, and return the measured values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.memory import budget, startup
from sparkiac.memory.startup import Compared, Startup
from sparkiac.memory.values import GIB, Unknown, known_bytes
from sparkiac.model.platform import is_discrete
from sparkiac.plan import labels
from sparkiac.plan.numbers import count, gib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.model.inventory import Measured
    from sparkiac.plan.parts import Proof
    from sparkiac.plan.values import HostPlan, Plan

_ROUNDED: Final = GIB // 50
"""Tolerance when comparing two figures of a log, because each is rounded to 0.01 GiB."""

SIZES: Final = ("total memory", "weights", "overhead", "CUDA graphs", "KV cache")
"""Names of the figures that are sizes in bytes; the others are counts."""
ORDER: Final = (*SIZES, "tokens", "concurrency", "block size")


class StartupComparison(NamedTuple):
    """Planned and measured figures of one deployment."""

    name: str
    host: str
    compared: tuple[Compared, ...]
    measured: Measured
    found: Startup
    """Figures of the log."""
    requested_bytes: int | None
    """Memory that the server requested, exactly if the plan agrees with the log."""
    total_bytes: int | None
    """Memory of the host that CUDA reports, if the inventory has another value."""
    notes: tuple[str, ...]
    """Reasons why the comparison is not exact."""


def servers(plan: Plan) -> dict[str, HostPlan]:
    """Return deployment → host; for a group, the host of the leader."""
    return {each.name: host for host, each in plan.containers if each.kind == "deployment" and each.server.leads}


def compare_log(name: str, host: HostPlan, log: str) -> StartupComparison | None:
    """Compare the startup log of a deployment with its memory calculation; None if no line is recognised."""
    found, proof = startup.read(log), host.proofs[name]
    if found == Startup():
        return None
    total = _total(found, host)
    planned = _planned(proof, found.visible_bytes if is_discrete(host.gpu) else total or host.memory_bytes)
    requested = _requested(found.requested_bytes, planned)
    measured = startup.calibrate(found._replace(requested_bytes=requested))
    measured = measured.model_copy(update={"weights_bytes": _without_drafter(measured.weights_bytes, proof)})
    rows = sorted(_compared(found, host, proof, measured), key=lambda row: ORDER.index(row.name))
    return StartupComparison(
        name,
        host.name,
        tuple(rows),
        measured,
        found,
        requested,
        total,
        tuple(_notes(found, proof, planned, measured)),
    )


def _total(found: Startup, host: HostPlan) -> int | None:
    seen = found.visible_bytes
    if seen is None or is_discrete(host.gpu):
        return None
    known = host.memory_bytes
    return None if known is not None and abs(seen - known) < _ROUNDED // 2 else seen


def _without_drafter(loaded: int | None, proof: Proof) -> int | None:
    """Subtract the drafter from the loaded weights: the log has one figure for both, the plan has two."""
    drafter = next((term.size_bytes for term in proof.server.inside if term.name == "drafter"), None)
    return loaded if loaded is None or drafter is None else max(0, loaded - drafter)


def _planned(proof: Proof, total: int | None) -> int | None:
    """Return the memory that the plan's server requests of this total; None if its KV cache has a fixed size."""
    options = proof.options
    if isinstance(options, Unknown) or options.kv_cache_memory_bytes is not None or total is None:
        return None
    return budget.requested_bytes(total, options.gpu_memory_utilization)


def _requested(logged: int | None, planned: int | None) -> int | None:
    """Return the requested memory: the plan's exact value if the log's rounded value agrees, else the log's value."""
    if logged is None or planned is None:
        return planned if logged is None else logged
    return planned if abs(logged - planned) <= _ROUNDED else logged


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
        yield f"Nothing can be compared: options are {labels.unknown(proof.options)}."
        return
    if isinstance(proof.fit, Unknown) and not proof.server.inside:
        yield f"Nothing can be compared: the memory of the server is {labels.unknown(proof.fit)}."
        return
    context = None if isinstance(proof.cache, Unknown) else proof.cache.context
    if found.context is not None and context is not None and found.context != context:
        yield f"max_model_len is {count(found.context)} in the log and {count(context)} in the plan."
    requested = found.requested_bytes
    if requested is not None and planned is not None and abs(requested - planned) > _ROUNDED:
        yield f"The server requested {gib(requested)} in the log and requests {gib(planned)} in the plan."
    if measured.overhead_bytes is None:
        yield "The log does not contain the memory used in addition to weights and KV cache."
