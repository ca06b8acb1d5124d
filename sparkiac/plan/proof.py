"""The memory proof: the memory of each server and each host, term by term. Sizes are in bytes.

sparkiac.memory calculates every figure from the lock, the catalog and the inventory. If a fact is missing, the result
is unknown and names that fact; an unknown result never counts as a pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sparkiac.catalog import interfaces
from sparkiac.memory import budget, prediction, speed
from sparkiac.memory.prediction import Checkpoint, Prediction
from sparkiac.memory.values import Term, Unknown, unknown_of
from sparkiac.model.facts import Architecture
from sparkiac.plan import facts
from sparkiac.plan.parts import NO_RATE, Proof, stated_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sparkiac.memory.budget import HostBudget, Server
    from sparkiac.memory.speed import Range
    from sparkiac.model.lock import LockedModel
    from sparkiac.plan.placement import PlacedHost
    from sparkiac.plan.values import Container

Models: TypeAlias = "Mapping[str, LockedModel]"
"""Model handle → entry in the lock."""
_SHORT: Final = 1024
"""Tokens in the context of a short request; the decode rate is estimated for it and for the longest request."""
_ACCEPTED: Final = (0.55, 0.80)
"""Acceptance rate of drafted tokens: DeepSeek-V4 thread (nine rows, 55.7 to 79.0 %), Spark guide L594 (80 %)."""
_STATED: Final = "catalog: published size"
_NO_CACHE: Final = Architecture.model_construct(full_attention_layers=0, kv_heads=0, head_size=0)
"""KV cache of a separate drafter for `mtp`: none, because it reads the cache of the target."""


def proofs(hosts: Iterable[PlacedHost], known: Models) -> dict[str, dict[str, Proof]]:
    """Return the proof of each deployment on each of its hosts: host → name → proof."""
    placed = [(host, each) for host in hosts for each in host.containers if each.kind == "deployment"]
    groups: dict[str, dict[str, int | None]] = {}
    for host, container in placed:
        groups.setdefault(container.name, {})[host.name] = host.memory_bytes
    found: dict[str, dict[str, Proof]] = {}
    for host, container in placed:
        total = budget.group_bytes(groups[container.name])
        found.setdefault(host.name, {})[container.name] = _proof(container, total, known)
    return found


def host_budget(host: PlacedHost, proven: Mapping[str, Proof], names: Collection[str] | None = None) -> HostBudget:
    """Return the memory budget of a host: its servers, its services (or those of `names`), and the reserve."""
    names = {each.name for each in host.units} if names is None else names
    servers = tuple(each.server for name, each in proven.items() if name in names)
    services = tuple(
        Term(each.name, each.memory_bytes, each.memory_source)
        for each in sorted(host.units, key=lambda each: each.name)
        if each.path[0] != "deployments" and each.name in names
    )
    kept = budget.reserve(host.memory_bytes, stated_bytes(host.values.reserve_gib))
    return budget.host(host.memory_bytes, servers=servers, services=services, reserve=kept)


def _proof(container: Container, total: int | Unknown, known: Models) -> Proof:
    found = _predicted(container, None if isinstance(total, Unknown) else total, known)
    server = _opaque(container) if isinstance(found.server, Unknown) else found.server
    catalogued, locked = facts.known(container.server), known.get(container.server.model or "")
    return Proof(
        server=server,
        options=found.options,
        shape=found.shape,
        cache=found.cache,
        fit=found.fit,
        workload=container.server.workload,
        advice=found.advice,
        steps=tuple(each for each in found.steps if not isinstance(each, Unknown)),
        decode=_decode(container, found, server, known),
        prefill=(catalogued.prefill if catalogued else None) or NO_RATE,
        assumption=_assumed(container),
        config=locked.config if locked else {},
    )


def _predicted(container: Container, total_bytes: int | None, known: Models) -> Prediction:
    if container.server.engine != "vllm":
        unknown = Unknown((f"cache layout of {container.server.engine}",))
        return Prediction(unknown, unknown, unknown, unknown, unknown, unknown, ())
    release = interfaces.assumed(container.image.vllm)
    drafts: Mapping[str, Any] = container.server.speculative or {}
    return prediction.predict(
        prediction.Setup(
            name=container.name,
            checkpoint=_checkpoint(container, known),
            given=container.server.options,
            release=release,
            total_bytes=total_bytes,
            workload=container.server.workload,
            method=drafts.get("method"),
            draft_tokens=drafts.get("num_speculative_tokens") or 0,
            drafter=_drafter(container, drafts, known) if drafts.get("model") else None,
            calibration=container.server.measured,
        )
    )


def _checkpoint(container: Container, known: Models) -> Checkpoint:
    catalogued, model = facts.known(container.server), container.server.model or ""
    stated = _stated("weights", catalogued.weights_bytes if catalogued else None)
    return Checkpoint(known.get(model), catalogued.architecture if catalogued else None, stated)


def _drafter(container: Container, drafts: Mapping[str, Any], known: Models) -> Checkpoint:
    catalogued = facts.known(container.server)
    stated = _stated("drafter", catalogued.drafter_bytes if catalogued else None)
    return Checkpoint(known.get(drafts["model"]), _NO_CACHE if drafts["method"] == "mtp" else None, stated)


def _stated(name: str, size_bytes: int | None) -> Term | None:
    return None if size_bytes is None else Term(name, size_bytes, _STATED)


def _assumed(container: Container) -> str | None:
    if container.server.engine != "vllm" or container.image.vllm is not None:
        return None
    newest = interfaces.versions()[-1]
    return f"as for vLLM {newest}: the version in {container.image.reference} is unknown"


def _decode(
    container: Container, found: Prediction, server: Server, known: Models
) -> tuple[tuple[int, Range], ...] | Unknown:
    catalogued, locked = facts.known(container.server), known.get(container.server.model or "")
    parameters = (catalogued.architecture.parameters if catalogued else None) or (None, None)
    width = None if isinstance(found.shape, Unknown) else found.shape.width
    read = speed.reads(
        next((term.size_bytes for term in server.inside if term.name == "weights"), None),
        total_params=parameters[0],
        active_params=parameters[1],
        tensors=locked.tensors if locked else None,
        width=width,
    )
    if isinstance(read, Unknown) or isinstance(found.cache, Unknown):
        return unknown_of(read, found.cache) or Unknown(())
    drafting = _drafting(container, server, routed=bool(width and width.experts))
    layout = found.cache
    contexts = sorted({min(_SHORT, layout.context), layout.context})
    return tuple((context, speed.decode(read, layout, context=context, drafting=drafting)) for context in contexts)


def _drafting(container: Container, server: Server, *, routed: bool) -> speed.Drafting | None:
    if container.server.speculative is None:
        return None
    tokens = container.server.speculative.get("num_speculative_tokens") or 0
    size = next((term.size_bytes for term in server.inside if term.name == "drafter"), None)
    return speed.Drafting(tokens, *_ACCEPTED, drafter_bytes=size or 0, routed=routed)


def _opaque(container: Container) -> Server:
    """Return the memory of a server whose KV cache cannot be calculated: only its share of the memory may be known."""
    unknown = Term("KV cache", None, "not calculated for this engine")
    requested = Term("requested", container.memory_bytes, "its share of the host's memory")
    return budget.Server(container.name, requested, (), unknown, (), unknown._replace(name="shortage"))
