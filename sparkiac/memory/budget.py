"""Memory of one server and of its host, as named terms that add up.

vLLM requests a share of the visible memory, loads the weights, runs one batch of the largest size, and uses the rest of
its share for the KV cache. The whole share is taken from the host, and what a server allocates after profiling.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from sparkiac.memory import overhead
from sparkiac.memory.layers import Shape
from sparkiac.memory.options import ServerOptions, Speculation
from sparkiac.memory.overhead import UNIFIED, Device
from sparkiac.memory.values import GIB, Quantity, Term, Unknown, least_bytes, less, quantity, total_bytes
from sparkiac.model.inventory import Measured

TIGHT_BYTES: Final = 2 * GIB
"""Less free memory than this is tight: Sparks have 119 to 121 GiB (dual-Spark post; DeepSeek-V4 thread)."""
KEPT: Final = "system and page cache"
"""Name of the term that a host keeps free."""
_RESERVED: Final = 10
"""One tenth of the memory is reserved for the system and the page cache, unless the inventory sets a size."""
_RESERVE_SOURCE: Final = "SM121 reference L17: use at most 0.90 of the memory"
_API_SERVER_BYTES: Final = 1042 << 20
"""Resident memory of vLLM's API server: 1.02 GiB in two starts on an H100 (0.23.0), 0.98 to 1.07 in five (0.26.0)."""
_ENGINE_BYTES: Final = 2151 << 20
"""Memory of vLLM's engine process on the host: 1.61 to 2.10 GiB in five starts on an H100 (0.26.0, PSS), 0.50 GiB in
one on a CPU (0.23.0)."""
BEYOND_BYTES: Final = (0, 1230 << 20)
"""GPU memory that a server held beyond its share and the graphs on top of it, after requests: CUDA's context and late
allocations. Ten starts on an H100 (0.23.0, 0.26.0): none to 1.20 GiB."""
PROCESSES_SOURCE: Final = (
    "part of the reserve; for each server: API server 1.02 GiB (two starts on an H100) or as recorded, engine 0 to "
    "2.10 GiB, unless it is in the share (five on an H100), CUDA context and late allocations 0 to 1.20 GiB (ten)"
)


class ServerMemory(NamedTuple):
    """The memory of one server on one host."""

    name: str
    requested: Term
    """Memory that vLLM reserves: its share, or weights plus a pool of a fixed size."""
    inside: tuple[Term, ...]
    """Parts of the requested memory that are not KV cache."""
    pool: Term
    """The rest of the requested memory, for the KV cache; never negative."""
    outside: tuple[Term, ...]
    """Memory that the server uses in addition to the requested memory."""
    shortage: Term
    """Bytes by which `inside` exceeds the share: vLLM does not start unless it is 0."""

    @property
    def taken(self) -> tuple[Term, ...]:
        """All memory of the host that the server uses."""
        return (self.requested._replace(name=self.name), *self.outside)


class HostBudget(NamedTuple):
    """The memory of one host."""

    total_bytes: int | None
    terms: tuple[Term, ...]
    """Servers, services, page cache, reserve."""

    @property
    def headroom_bytes(self) -> Quantity:
        """Free memory; negative if the terms do not fit. Unknown lists the unknown terms."""
        return less(quantity(self.total_bytes, "total memory"), total_bytes(self.terms))

    @property
    def most_bytes(self) -> int | None:
        """Upper bound of the free memory, without the unknown terms."""
        return None if self.total_bytes is None else self.total_bytes - least_bytes(self.terms)


class LoadingPeak(NamedTuple):
    """Memory of a host while its servers load their weights, one after the other."""

    name: str
    """Server whose loading takes most."""
    low_bytes: int
    """The servers that have started before, and its weights."""
    high_bytes: int
    """The same, with all files of its weights in the page cache."""
    resting_bytes: int
    """All servers after their start."""


def loading(servers: Iterable[tuple[ServerMemory, ServerOptions | Unknown]]) -> LoadingPeak | None:
    """Return the highest memory while servers load their weights, in their order; None if it is unknown.

    A rank copies its weights from files that are mapped, and reads the files of all ranks. Where CPU and GPU share one
    memory, the pages of these files are as large as the weights again (safetensors/safetensors#758, DGX Spark, April
    2026), until the kernel reclaims them: nobody knows how many it has reclaimed when, so this is a range. The
    DeepSeek-V4 thread (L376) saw 33 GiB more than afterwards, for weights of 74 GiB on each host.
    """
    before, peaks = 0, list[LoadingPeak]()
    for each, options in servers:
        ranks = 1 if isinstance(options, Unknown) else options.ranks
        weights = total_bytes(term for term in each.inside if term.name in {"weights", "drafter"})
        taken = total_bytes(each.taken)
        if isinstance(weights, Unknown) or isinstance(taken, Unknown) or not weights:
            return None
        peaks.append(LoadingPeak(each.name, before + weights, before + (1 + ranks) * weights, 0))
        before += taken
    return max(peaks, key=lambda peak: peak.high_bytes)._replace(resting_bytes=before) if peaks else None


def group_bytes(totals: Mapping[str, int | None]) -> Quantity:
    """Return the memory of the smallest host of a group."""
    unknown = tuple(f"total memory of {name}" for name, size in totals.items() if size is None)
    known = [size for size in totals.values() if size is not None]
    return Unknown(unknown or ("hosts of the group",)) if unknown or not known else min(known)


def requested_bytes(total: int, utilization: float) -> int:
    """Return the memory that vLLM requests: a share of the visible memory, rounded up."""
    return math.ceil(total * utilization)


def server(  # noqa: PLR0913  the facts of one server, each under its name
    name: str,
    *,
    total_bytes: int | None,
    options: ServerOptions,
    weights: Term,
    shape: Shape | None = None,
    drafter: Term | None = None,
    speculation: Speculation | None = None,
    calibration: Measured | None = None,
    device: Device = UNIFIED,
) -> ServerMemory:
    """Return the terms of one server. `total_bytes` is the memory that CUDA sees on the smallest host of the group."""
    known = calibration.weights_bytes if calibration else None
    loaded = weights if known is None else Term(weights.name, known, "measured: startup log")
    both = (loaded, *((drafter,) if drafter else ()))
    facts = overhead.OverheadFacts(options, shape, speculation, device, calibration)
    inside = (*both, *overhead.inside(facts))
    outside = tuple(overhead.outside(facts))
    fixed = options.kv_cache_memory_bytes
    if fixed is not None:
        return _with_fixed_pool(name, Term("KV cache", fixed, "--kv-cache-memory-bytes"), inside, outside)
    requested = Term(
        "requested",
        quantity(total_bytes and requested_bytes(total_bytes, options.gpu_memory_utilization), "total memory"),
        f"--gpu-memory-utilization {options.gpu_memory_utilization:g} of the host's memory",
    )
    left = _left(requested, inside)
    return ServerMemory(
        name,
        requested,
        inside,
        _pool(left, inside),
        outside,
        Term("shortage", left if isinstance(left, Unknown) else max(0, -left), "bytes over the share"),
    )


def reserve(total: int | None, stated: int | None = None) -> Term:
    """Return the memory that a host keeps for the system and the page cache."""
    if stated is not None:
        return Term(KEPT, stated, "the inventory")
    return Term(KEPT, quantity(total and total // _RESERVED, KEPT), _RESERVE_SOURCE, assumed=True)


def process_bytes(recorded: int | None, *, leads: bool) -> tuple[int, int]:
    """Return the least and the most memory that the processes of a vLLM server use beside its share.

    `recorded` is the size of its API server. Only the leader of a group has one. Where CPU and GPU share one memory,
    what the engine allocates on the host during the start counts as runtime of the server, inside its share.
    """
    api_server = (_API_SERVER_BYTES if recorded is None else recorded) if leads else 0
    least, most = BEYOND_BYTES
    return api_server + least, api_server + _ENGINE_BYTES + most


def split_reserve(reserve: Term, least: int, most: int) -> tuple[Term, Term]:
    """Return the processes of the vLLM servers, and the rest of the reserve: together they are the reserve."""
    size = most if isinstance(reserve.size_bytes, Unknown) else min(most, reserve.size_bytes)
    processes = Term("processes of vLLM", size, PROCESSES_SOURCE, assumed=True, low_bytes=least, high_bytes=most)
    return processes, reserve._replace(size_bytes=less(reserve.size_bytes, size))


def host(
    total: int | None,
    *,
    servers: tuple[ServerMemory, ...] = (),
    services: tuple[Term, ...] = (),
    reserve: Term | None = None,
) -> HostBudget:
    """Return the terms of one host; `reserve` is kept free."""
    taken = (term for each in servers for term in each.taken)
    return HostBudget(total, (*taken, *services, *((reserve,) if reserve else ())))


def _left(requested: Term, inside: tuple[Term, ...]) -> Quantity:
    return less(requested.size_bytes, total_bytes(inside))


def _pool(left: Quantity, inside: tuple[Term, ...]) -> Term:
    """Return the KV cache, with its sizes if all terms are as large, or as small, as recorded starts allow."""
    size = left if isinstance(left, Unknown) else max(0, left)
    pool = Term("KV cache", size, "what the other terms leave", any(each.assumed for each in inside))
    sizes = [(each.low_bytes, each.size_bytes, each.high_bytes) for each in inside]
    if isinstance(left, Unknown) or not any(low is not None for low, _, _ in sizes):
        return pool
    more = sum(size - low for low, size, _ in sizes if low is not None and isinstance(size, int))
    less = sum(high - size for _, size, high in sizes if high is not None and isinstance(size, int))
    return pool._replace(low_bytes=max(0, left - less), high_bytes=max(0, left + more))


def _with_fixed_pool(name: str, pool: Term, inside: tuple[Term, ...], outside: tuple[Term, ...]) -> ServerMemory:
    source = "the configured KV cache size and the other terms"
    requested = Term("requested", total_bytes((*inside, pool)), source, any(each.assumed for each in inside))
    return ServerMemory(
        name, requested, inside, pool, outside, Term("shortage", 0, "a fixed KV cache size has no shortage")
    )
