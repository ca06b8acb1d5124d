"""The memory calculation ("proof") of each server and each host, term by term. Sizes are in bytes.

sparkiac.memory calculates every figure from the lock, the catalog and the inventory. If a fact is missing, the result
is unknown and names that fact; an unknown result never counts as a pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac import catalog, engines
from sparkiac.catalog import interfaces
from sparkiac.memory import budget, prediction, recorded
from sparkiac.memory import shape as shapes
from sparkiac.memory.prediction import Checkpoint, Prediction
from sparkiac.memory.values import Quantity, Term, Unknown, known_bytes, quantity
from sparkiac.model.catalog import is_discrete
from sparkiac.model.facts import Architecture
from sparkiac.plan import speeds, start_records
from sparkiac.plan.parts import Proof, stated_bytes
from sparkiac.plan.speeds import KnownServer, Models

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sparkiac.memory.budget import HostBudget, ServerMemory
    from sparkiac.model.catalog import Gpu
    from sparkiac.model.records import StartRecord
    from sparkiac.plan.container import Container
    from sparkiac.plan.placement import PlacedHost
    from sparkiac.plan.start_records import Starts

_STATED: Final = "catalog: published size"
_GPU_MEMORY: Final = Unknown(("size of the GPU's own memory",))
_OWN_MEMORY: Final = "in the GPU's own memory, whose size is unknown"
_GPU_SPEED: Final = Unknown(("speed of this GPU",))
_NO_CACHE: Final = Architecture.model_construct(full_attention_layers=0, kv_heads=0, head_size=0)
"""KV cache of a separate drafter for `mtp`: none, because it reads the cache of the target."""


def proofs(
    hosts: Iterable[PlacedHost], known: Models, *, platforms: Mapping[str, str], records: tuple[StartRecord, ...] = ()
) -> dict[str, dict[str, Proof]]:
    """Return the memory calculation of each deployment on each of its hosts: host → name → proof.

    `records` are the user's recorded starts, `platforms` the platform of each host.
    """
    placed = [(host, each) for host in hosts for each in host.containers if each.kind == "deployment"]
    groups: dict[str, dict[str, int | None]] = {}
    for host, container in placed:
        shared = None if is_discrete(host.values.gpu) else host.memory_bytes
        groups.setdefault(container.name, {})[host.name] = shared
    found: dict[str, dict[str, Proof]] = {}
    for host, container in placed:
        total = budget.group_bytes(groups[container.name])
        recorded_starts = start_records.starts(start_records.subject(container, platforms[host.name], known), records)
        beside = sum(each.kind == "deployment" for each in host.containers)
        made = _proof(KnownServer(container, known, recorded_starts), total, beside)
        if (gpu := host.values.gpu) is not None:
            made = _on_gpu(made, gpu, container, recorded_starts.exact)
        made = made._replace(prefill=speeds.capped(made.prefill, host.values))
        found.setdefault(host.name, {})[container.name] = made
    return found


def host_budget(host: PlacedHost, proven: Mapping[str, Proof], names: Collection[str] | None = None) -> HostBudget:
    """Return the memory budget of a host: its servers, its services (or those of `names`), and the reserve."""
    names = {each.name for each in host.units} if names is None else names
    servers = tuple(each.server for name, each in proven.items() if name in names)
    services = tuple(
        Term(each.name, quantity(each.memory_bytes, each.name), each.memory_source)
        for each in sorted(host.units, key=lambda each: each.name)
        if each.path[0] != "deployments" and each.name in names
    )
    kept = budget.reserve(host.memory_bytes, stated_bytes(host.values.reserve_gib))
    beside = [each.processes for name, each in proven.items() if name in names]
    if any(most for _, most in beside):
        processes, kept = budget.split_reserve(kept, sum(low for low, _ in beside), sum(most for _, most in beside))
        services = (*services, processes)
    return budget.host(host.memory_bytes, servers=servers, services=services, reserve=kept)


def _proof(it: KnownServer, total: Quantity, beside: int) -> Proof:
    container, begun = it.container, it.begun
    found = _predicted(it, known_bytes(total))
    server = _opaque(container) if isinstance(found.server, Unknown) else found.server
    return Proof(
        server=server,
        options=found.options,
        shape=found.shape,
        cache=found.cache,
        fit=found.fit,
        workload=container.server.workload,
        advice=found.advice,
        steps=tuple(each for each in found.steps if not isinstance(each, Unknown)),
        decode=speeds.decode(it, found, server),
        processes=_processes(container, begun.exact),
        busy=speeds.busy(it, found, server, beside),
        prefill=speeds.prefill(it, found),
        assumption=_assumed(container),
        subject=begun.subject,
        record=_record_used(container, begun),
        unused=begun.unused,
        compared=not it.config or shapes.is_compared(it.config),
        config=(it.locked and it.locked.config) or {},
        remote_code=it.locked is not None and it.locked.remote_code,
    )


def _on_gpu(made: Proof, gpu: Gpu, container: Container, exact: StartRecord | None) -> Proof:
    """Return the calculation for this GPU: formulas of memory need unified memory, those of speed are a DGX Spark's.

    Elsewhere, what the model and the options decide remains, and speeds that were recorded on this platform.
    """
    discrete = is_discrete(gpu)
    if discrete:
        opaque = _opaque(container)
        server = opaque._replace(requested=opaque.requested._replace(source=_OWN_MEMORY))
        record = made.record if exact else None
        made = made._replace(server=server, fit=_GPU_MEMORY, advice=_GPU_MEMORY, steps=(), record=record)
    if not discrete and gpu.compute_capability == catalog.gpu().compute_capability:
        return made
    decode = (recorded.decodes(exact) if exact else ()) or _GPU_SPEED
    return made._replace(decode=decode, busy=None, prefill=(recorded.prefill(exact) if exact else None) or _GPU_SPEED)


def _processes(container: Container, record: StartRecord | None) -> tuple[int, int]:
    if not engines.named(container.server.engine).vllm:
        return 0, 0
    return budget.process_bytes(record.terms.host_bytes if record else None, leads=container.server.leads)


def _record_used(container: Container, begun: Starts) -> str | None:
    """Return the recorded start that the figures are based on; measurements of the inventory replace it."""
    if container.server.measured is not None:
        return None
    found = begun.exact or begun.near
    if found is None:
        return None
    what = "the same server" if begun.exact else "the same model"
    return f"a recorded start of {what}: {found.source.link}"


def _predicted(it: KnownServer, total_bytes: int | None) -> Prediction:
    container, begun = it.container, it.begun
    if not engines.named(container.server.engine).interfaces:
        unknown = Unknown((f"cache layout of {container.server.engine}",))
        return Prediction(unknown, unknown, unknown, unknown, unknown, unknown, ())
    release = interfaces.assumed(container.image.vllm)
    drafts: Mapping[str, Any] = container.server.speculative or {}
    return prediction.predict(
        prediction.Setup(
            name=container.name,
            checkpoint=_checkpoint(it),
            given=container.server.options,
            release=release,
            total_bytes=total_bytes,
            workload=container.server.workload,
            method=drafts.get("method"),
            draft_tokens=drafts.get("num_speculative_tokens") or 0,
            drafter=_drafter(it, drafts) if drafts.get("model") else None,
            calibration=container.server.measured,
            record=begun.exact,
            near=begun.near,
            near_release=interfaces.assumed(begun.near.subject.release) if begun.near else (),
        )
    )


def _checkpoint(it: KnownServer) -> Checkpoint:
    catalogued = it.catalogued
    stated = _stated("weights", catalogued.weights_bytes if catalogued else None)
    return Checkpoint(it.locked, catalogued.architecture if catalogued else None, stated, it.config)


def _drafter(it: KnownServer, drafts: Mapping[str, Any]) -> Checkpoint:
    stated = _stated("drafter", it.catalogued.drafter_bytes if it.catalogued else None)
    known, model = _NO_CACHE if drafts["method"] == "mtp" else None, drafts["model"]
    return Checkpoint(it.known.get(model), known, stated, catalog.config(model))


def _stated(name: str, size_bytes: int | None) -> Term | None:
    return None if size_bytes is None else Term(name, size_bytes, _STATED)


def _assumed(container: Container) -> str | None:
    if not engines.named(container.server.engine).interfaces or container.image.vllm is not None:
        return None
    newest = interfaces.versions()[-1]
    return f"as for vLLM {newest}: the version in {container.image.reference} is unknown"


def _opaque(container: Container) -> ServerMemory:
    """Return the memory of a server whose KV cache cannot be calculated: only its share of the memory may be known."""
    unknown = Term("KV cache", Unknown(("KV cache",)), "not calculated for this engine")
    requested = Term("requested", quantity(container.memory_bytes, "requested"), "its share of the host's memory")
    return budget.ServerMemory(container.name, requested, (), unknown, (), unknown._replace(name="shortage"))
