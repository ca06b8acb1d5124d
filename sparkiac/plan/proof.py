"""The memory proof: the memory of each server and each host, term by term. Sizes are in bytes.

sparkiac.memory calculates every figure from the lock, the catalog and the inventory. If a fact is missing, the result
is unknown and names that fact; an unknown result never counts as a pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sparkiac.catalog import interfaces
from sparkiac.memory import budget, prediction, speed
from sparkiac.memory.counts import Counts
from sparkiac.memory.prediction import Network, Prediction
from sparkiac.memory.values import Calibration, Term, Unknown, lacking
from sparkiac.plan.facts import of_model
from sparkiac.plan.parts import NO_RATE, Proof, stated_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sparkiac.memory.budget import Host, Server
    from sparkiac.memory.speed import Range
    from sparkiac.model.lock import LockedModel
    from sparkiac.plan.facts import CatalogFacts
    from sparkiac.plan.placement import PlacedHost
    from sparkiac.plan.values import Container

Models: TypeAlias = "Mapping[str, LockedModel]"
"""Model handle → entry in the lock."""
_RESERVED: Final = 10
"""By default, one tenth of the memory is reserved for the system and the page cache."""
_RESERVE_SOURCE: Final = "SM121 reference L17: use at most 0.90 of the memory"
_SHORT: Final = 1024
"""Tokens in the context of a short request; the decode rate is estimated for it and for the longest request."""
_ACCEPTED: Final = (0.55, 0.80)
"""Acceptance rate of drafted tokens: DeepSeek-V4 thread (nine rows, 55.7 to 79.0 %), Spark guide L594 (80 %)."""
_RESERVE: Final = "system and page cache"
_STATED: Final = "catalog: published size"
_NO_CACHE: Final = Counts(full_attention_layers=0, kv_heads=0, head_size=0)
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


def host_budget(host: PlacedHost, proven: Mapping[str, Proof]) -> Host:
    """Return the memory budget of a host: its servers, its services, and the reserve for the system."""
    servers = tuple(each.server for each in proven.values())
    services = tuple(
        Term(each.name, each.memory_bytes, "the inventory")
        for each in sorted(host.units, key=lambda each: each.name)
        if each.path[0] == "services"
    )
    return budget.host(host.memory_bytes, servers=servers, services=services, reserve=_reserve(host))


def _reserve(host: PlacedHost) -> Term:
    stated = stated_bytes(host.values.reserve_gib)
    if stated is not None:
        return Term(_RESERVE, stated, "the inventory")
    size = None if host.memory_bytes is None else host.memory_bytes // _RESERVED
    return Term(_RESERVE, size, _RESERVE_SOURCE, assumed=True)


def _proof(container: Container, total: int | Unknown, known: Models) -> Proof:
    found = _predicted(container, None if isinstance(total, Unknown) else total, known)
    server = _opaque(container) if isinstance(found.server, Unknown) else found.server
    facts = _catalog_facts(container)
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
        prefill=(facts.prefill if facts else None) or NO_RATE,
        assumption=_assumed(container),
    )


def _predicted(container: Container, total_bytes: int | None, known: Models) -> Prediction:
    if container.server.engine != "vllm":
        unknown = Unknown((f"cache layout of {container.server.engine}",))
        return Prediction(unknown, unknown, unknown, unknown, unknown, unknown, ())
    release = interfaces.assumed(container.image.vllm)
    drafts: Mapping[str, Any] = container.server.speculative or {}
    return prediction.predict(
        prediction.Facts(
            name=container.name,
            network=_network(container, known),
            given=container.server.options,
            release=release,
            total_bytes=total_bytes,
            workload=container.server.workload,
            method=drafts.get("method"),
            draft_tokens=drafts.get("num_speculative_tokens") or 0,
            drafter=_drafter(container, drafts, known) if drafts.get("model") else None,
            calibration=_calibration(container),
        )
    )


def _calibration(container: Container) -> Calibration | None:
    measured = container.server.measured
    return Calibration(**measured.model_dump(exclude_none=True)) if measured else None


def _network(container: Container, known: Models) -> Network:
    facts = _catalog_facts(container)
    found = _locked("weights", container.server.model, known, facts.weights_bytes if facts else None)
    return found._replace(counts=facts.counts if facts else None)


def _drafter(container: Container, drafts: Mapping[str, Any], known: Models) -> Network:
    facts = _catalog_facts(container)
    found = _locked("drafter", drafts["model"], known, facts.drafter_bytes if facts else None)
    return found._replace(counts=_NO_CACHE if drafts["method"] == "mtp" else None)


def _locked(term: str, model: str | None, known: Models, stated: int | None) -> Network:
    """Return the facts of the lock about a checkpoint, and the published size."""
    locked = known.get(model or "")
    size = None if stated is None else Term(term, stated, _STATED)
    if locked is None:
        return Network(stated=size)
    return Network(locked.config or None, None, locked.tensors, locked.tensor_bytes, size)


def _assumed(container: Container) -> str | None:
    if container.server.engine != "vllm" or container.image.vllm is not None:
        return None
    newest = interfaces.versions()[-1]
    return f"as for vLLM {newest}: the version in {container.image.reference} is unknown"


def _catalog_facts(container: Container) -> CatalogFacts | None:
    """Return the facts of the catalog about the model."""
    return container.server.facts or (of_model(container.server.model) if container.server.model else None)


def _decode(
    container: Container, found: Prediction, server: Server, known: Models
) -> tuple[tuple[int, Range], ...] | Unknown:
    facts, locked = _catalog_facts(container), known.get(container.server.model or "")
    parameters = facts.parameters if facts and facts.parameters else (None, None)
    width = None if isinstance(found.shape, Unknown) else found.shape.width
    read = speed.reads(
        next((term.size_bytes for term in server.inside if term.name == "weights"), None),
        total_params=parameters[0],
        active_params=parameters[1],
        tensors=locked.tensors if locked else None,
        width=width,
    )
    if isinstance(read, Unknown) or isinstance(found.cache, Unknown):
        return lacking(read, found.cache) or Unknown(())
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
