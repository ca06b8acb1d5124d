"""Compare the plan with a vLLM startup log, and return the measured values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from sparkiac.memory import budget, overhead, startup
from sparkiac.memory.startup import Startup
from sparkiac.memory.values import Unknown, known_bytes, less, quantity, total_bytes
from sparkiac.model.catalog import is_discrete
from sparkiac.plan import numbers, server_match
from sparkiac.plan.parts import Proof
from sparkiac.plan.values import HostPlan, Plan

SIZES: Final = ("total memory", "weights", "overhead", "CUDA graphs", "KV cache")
"""Names of the figures that are sizes in bytes; the others are counts."""


class Compared(NamedTuple):
    """One figure: predicted and measured."""

    name: str
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """Relative error of the prediction: 0.02 is 2 % too high."""
        return self.predicted / self.measured - 1


class StartupComparison(NamedTuple):
    """Planned and measured figures of one deployment."""

    name: str
    host: str
    compared: tuple[Compared, ...]
    found: Startup
    """Figures of the log; the requested memory exactly, if the plan agrees with the log."""
    total_bytes: int | None
    """Memory of the host that CUDA reports, if the inventory has another value."""
    notes: tuple[str, ...]
    """Reasons why the comparison is not exact."""
    refused: tuple[str, ...]
    """Why the log is not one of a successful start of this deployment; empty if it is."""


def servers(plan: Plan) -> dict[str, HostPlan]:
    """Return deployment → host; for a group, the host of the leader."""
    return {each.name: host for host, each in plan.containers if each.kind == "deployment" and each.server.leads}


def compare_log(name: str, host: HostPlan, log: str) -> StartupComparison | None:
    """Compare the startup log of a deployment with its memory calculation; None if no line is recognised."""
    found, proof = startup.read(log), host.proofs[name]
    if found == Startup():
        return None
    known, seen = host.memory_bytes, None if is_discrete(host.gpu) else found.visible_bytes
    total = None if known and seen and abs(seen - known) < server_match.ROUNDED // 2 else seen
    planned = _planned(proof, found.visible_bytes if is_discrete(host.gpu) else total or known)
    found = found._replace(requested_bytes=_requested(found.requested_bytes, planned))
    container = next(each for each in host.containers if each.name == name)
    refused, unknown = server_match.of_log(container, host, log, found, planned)
    rest = overhead.measured_bytes(found.requested_bytes, found.weights_bytes, found.pool_bytes)
    rows, notes = tuple(_compared(found, host, proof, rest)), tuple(_notes(unknown, proof, rest))
    return StartupComparison(name, host.name, rows, found, total, notes, refused)


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
    return planned if abs(logged - planned) <= server_match.ROUNDED else logged


def _compared(found: Startup, host: HostPlan, proof: Proof, rest: int | None) -> Iterator[Compared]:
    """Yield every figure that is predicted and measured. `rest` is the measured overhead."""
    server, pool = proof.server, known_bytes(proof.server.pool.size_bytes)
    if not server.inside:
        return
    cache = None if isinstance(proof.cache, Unknown) else proof.cache
    beside = [term for term in server.inside if term.name not in {"weights", "drafter"}]
    drafter = total_bytes(term for term in server.inside if term.name == "drafter")
    graphs = next((known_bytes(term.size_bytes) for term in server.outside if term.name == "CUDA graphs"), None)
    for name, computed, logged in (
        ("total memory", host.memory_bytes, found.visible_bytes),
        # The log has one figure for model and drafter.
        (
            "weights",
            known_bytes(server.inside[0].size_bytes),
            known_bytes(less(quantity(found.weights_bytes, "weights"), drafter)),
        ),
        ("overhead", known_bytes(total_bytes(beside)), rest),
        ("CUDA graphs", graphs, found.graphs_bytes),
        ("KV cache", pool, found.pool_bytes),
        ("tokens", cache.tokens(pool) if cache and pool is not None else None, found.tokens),
        ("concurrency", cache.concurrency(pool) if cache and pool is not None else None, found.concurrency),
        ("block size", cache.block_tokens if cache else None, found.block_tokens),
    ):
        if computed is not None and logged is not None and logged > 0:
            yield Compared(name, computed, logged)


def _notes(unknown: tuple[str, ...], proof: Proof, rest: int | None) -> Iterator[str]:
    if unknown:
        yield f"Not in the log, and not compared with the inventory: {', '.join(unknown)}."
    if isinstance(proof.options, Unknown):
        yield f"Nothing can be compared: options are {numbers.unknown(proof.options)}."
        return
    if isinstance(proof.fit, Unknown) and not proof.server.inside:
        yield f"Nothing can be compared: the memory of the server is {numbers.unknown(proof.fit)}."
        return
    if rest is None:
        yield "The log does not contain the memory used in addition to weights and KV cache."
