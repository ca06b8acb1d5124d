"""The proof that it fits: what each server and each host does with its memory, term by term. Sizes are bytes.

Every figure is worked out by sparkiac.memory from what the lock, the catalog and the inventory say. Where a fact lacks,
the result is unknown and says which one; it is never taken for a pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from sparkiac.catalog import interfaces
from sparkiac.memory import blocks, budget, counts, fit, options, shape, speed, weights
from sparkiac.memory.layers import Shape
from sparkiac.memory.startup import Calibration
from sparkiac.memory.values import Term, Unknown, lacking
from sparkiac.plan.facts import of_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sparkiac.memory.blocks import Cache
    from sparkiac.memory.budget import Host, Server
    from sparkiac.memory.fit import Advice, Fit, Step, Workload
    from sparkiac.memory.options import Options, Speculation
    from sparkiac.memory.speed import Range
    from sparkiac.model.lock import LockedModel
    from sparkiac.plan.facts import Facts
    from sparkiac.plan.values import Container, HostPlan

Models: TypeAlias = "Mapping[str, LockedModel]"
"""What the lock knows of models, by handle."""
_RESERVED: Final = 10
"""A tenth is kept for the system and the page cache, unless the inventory says otherwise."""
_RESERVE_SOURCE: Final = "SM121 reference L17: never take more than 0.90 of the memory"
_SHORT: Final = 1024
"""Tokens of context of a short request, beside the longest one."""
_ACCEPTED: Final = (0.55, 0.80)
"""Chance that a drafted token is accepted: DeepSeek-V4 thread (nine rows, 55.7 to 79.0 %), Spark guide L594 (80 %)."""
_RESERVE: Final = "system and page cache"
_AROUND: Final = (-0.10, -0.05, 0.05, 0.10)
"""Other utilizations that a reader wants to see beside the one that is set."""


class Proof(NamedTuple):
    """The memory of one server."""

    server: Server
    options: Options | Unknown
    shape: Shape | Unknown
    cache: Cache | Unknown
    fit: Fit | Unknown
    workload: Workload | None
    """What the inventory says that it is for."""
    advice: Advice | Unknown | None
    """The smallest pool for that workload."""
    steps: tuple[Step, ...]
    """What other utilizations buy."""
    decode: tuple[tuple[int, Range], ...] | Unknown = Unknown(())
    """Tokens of context → tokens a second of one request."""
    prefill: Range | Unknown = Unknown(())
    """Tokens of a prompt a second."""
    assumes: str | None = None
    """What the figures rest on that nobody knows: they are an estimate then, and no proof."""


def proofs(hosts: Iterable[HostPlan], known: Models) -> dict[tuple[str, str], Proof]:
    """Give the proof of each deployment on each of its hosts, by host and name."""
    machines = {host.name: host for host in hosts}
    groups: dict[str, dict[str, int | None]] = {}
    for host in machines.values():
        for container in host.containers:
            if container.kind == "deployment":
                groups.setdefault(container.name, {})[host.name] = host.memory_bytes
    return {
        (host.name, container.name): _proof(container, budget.group_bytes(groups[container.name]), known)
        for host in machines.values()
        for container in host.containers
        if container.kind == "deployment"
    }


def host_budget(host: HostPlan, proven: Mapping[tuple[str, str], Proof]) -> Host:
    """Give the memory of a host: its servers, its services, and what is kept for the system."""
    servers = tuple(proven[host.name, each.name].server for each in host.containers if each.kind == "deployment")
    services = tuple(
        Term(each.name, each.memory_bytes, "the inventory") for each in host.units if each.path[0] == "services"
    )
    return budget.host(host.memory_bytes, servers=servers, services=services, reserve=_reserve(host))


def _reserve(host: HostPlan) -> Term:
    if host.reserve_bytes is not None:
        return Term(_RESERVE, host.reserve_bytes, "the inventory")
    size = None if host.memory_bytes is None else host.memory_bytes // _RESERVED
    return Term(_RESERVE, size, _RESERVE_SOURCE, assumed=True)


def _proof(container: Container, total: int | Unknown, known: Models) -> Proof:
    total_bytes = None if isinstance(total, Unknown) else total
    found = _options(container, total_bytes)
    shaped = _shape(container, container.model, known)
    speculation = _speculation(container, known)
    facts = _Facts(total_bytes, shaped, speculation, known)
    server = _server(container, facts, found)
    if isinstance(found, Unknown) or isinstance(shaped, Unknown):
        wrong = lacking(found, shaped) or Unknown(())
        return Proof(server, found, shaped, wrong, wrong, container.workload, container.workload and wrong, ())
    cache = blocks.cache(shaped, found, speculation=speculation)
    advice = None
    if container.workload is not None:
        advice = fit.advise(
            container.workload, server=server, total=total_bytes, shape=shaped, options=found, speculation=speculation
        )
    pool = _fit(server, cache, found)
    steps = _steps(server, cache, total_bytes, found)
    told = _known(container)
    prefill = told.prefill if told else None
    return Proof(
        *(server, found, shaped, cache, pool, container.workload, advice, steps),
        decode=_decode(container, cache, facts, server),
        prefill=prefill or Unknown(("a prefill rate that a source states",)),
        assumes=_assumed(container),
    )


def _fit(server: Server, cache: Cache | Unknown, found: Options) -> Fit | Unknown:
    if isinstance(cache, Unknown):
        return cache
    size = server.pool.size_bytes
    if size is None:
        terms = tuple(term.name for term in (server.requested, *server.inside) if term.size_bytes is None)
        return Unknown(terms)
    return fit.fit(cache, size, max_num_seqs=found.max_num_seqs)


def _steps(server: Server, cache: Cache | Unknown, total: int | None, found: Options) -> tuple[Step, ...]:
    if isinstance(cache, Unknown) or total is None or found.kv_cache_memory_bytes is not None:
        return ()
    asked = [round(found.gpu_memory_utilization + delta, 2) for delta in _AROUND]
    steps = [fit.step(server, cache, total=total, utilization=each) for each in asked if 0 < each <= 1]
    return tuple(each for each in steps if not isinstance(each, Unknown))


def _options(container: Container, visible_bytes: int | None) -> Options | Unknown:
    if container.engine != "vllm":
        return Unknown((f"how {container.engine} lays out its cache",))
    release, _ = interfaces.release(container.image.vllm or interfaces.versions()[-1])
    return options.read(container.options, release=release, visible_bytes=visible_bytes)


def _assumed(container: Container) -> str | None:
    if container.image.vllm is not None:
        return None
    newest = interfaces.versions()[-1]
    return f"the arithmetic of vLLM {newest}, for nobody knows the release in {container.image.reference}"


def _known(container: Container) -> Facts | None:
    """Give what the catalog knows of the model."""
    return container.facts or (of_model(container.model) if container.model else None)


def _shape(container: Container, model: str | None, known: Models) -> Shape | Unknown:
    locked = known.get(model or "")
    if locked is not None and locked.config:
        return shape.read(locked.config)
    told = _known(container)
    if told is not None and told.counts is not None and model == container.model:
        return counts.shaped(told.counts)
    return Unknown((f"config.json of {model}",))


def _speculation(container: Container, known: Models) -> Speculation | None:
    chosen = container.speculative
    if chosen is None:
        return None
    tokens = chosen.get("num_speculative_tokens") or 0
    return options.Speculation(chosen["method"], tokens, _drafting(container, chosen, known))


def _drafting(container: Container, chosen: Mapping[str, Any], known: Models) -> Shape | None:
    """Give the shape of a drafter that is a model of its own. One under `mtp` keeps no cache: any shape will do."""
    if chosen.get("model") is None:
        return None
    found = _shape(container, chosen["model"], known)
    if isinstance(found, Unknown):
        return Shape(()) if chosen["method"] == "mtp" else None
    return found


def _decode(
    container: Container, cache: Cache | Unknown, facts: _Facts, server: Server
) -> tuple[tuple[int, Range], ...] | Unknown:
    told = _known(container)
    parameters = told.parameters if told else None
    locked = facts.models.get(container.model or "")
    read = speed.reads(
        server.inside[0].size_bytes,
        total_params=parameters[0] if parameters else None,
        active_params=parameters[1] if parameters else None,
        tensors=locked.tensors if locked else None,
        width=None if isinstance(facts.shape, Unknown) else facts.shape.width,
    )
    if isinstance(read, Unknown) or isinstance(cache, Unknown):
        return lacking(read, cache) or Unknown(())
    drafting = None
    if facts.speculation is not None:
        drafter = next((term.size_bytes for term in server.inside if term.name == "drafter"), None)
        routed = bool(facts.shape.width.experts) if not isinstance(facts.shape, Unknown) else False
        drafting = speed.Drafting(facts.speculation.tokens, *_ACCEPTED, drafter_bytes=drafter or 0, routed=routed)
    contexts = sorted({min(_SHORT, cache.context), cache.context})
    return tuple((context, speed.decode(read, cache, context=context, drafting=drafting)) for context in contexts)


class _Facts(NamedTuple):
    total_bytes: int | None
    shape: Shape | Unknown
    speculation: Speculation | None
    models: Models


def _server(container: Container, facts: _Facts, found: Options | Unknown) -> Server:
    if isinstance(found, Unknown):
        return _opaque(container)
    return budget.server(
        container.name,
        total_bytes=facts.total_bytes,
        options=found,
        weights=_weights(container, found, facts),
        shape=None if isinstance(facts.shape, Unknown) else facts.shape,
        drafter=_drafter(container, found, facts.models),
        speculation=facts.speculation,
        calibration=Calibration(**container.measured) if container.measured else None,
    )


def _opaque(container: Container) -> Server:
    """Give what an engine takes whose cache is not worked out: its share, or nothing that is known."""
    nothing = Term("KV cache", None, "not worked out for this engine or image")
    requested = Term("requested", container.memory_bytes, "its share of the host's memory")
    return budget.Server(container.name, requested, (), nothing, (), nothing._replace(name="shortage"))


def _weights(container: Container, found: Options, facts: _Facts) -> Term:
    locked = facts.models.get(container.model or "")
    told = _known(container)
    stated = told.weights_bytes if told else None
    term = weights.weights(
        "weights",
        options=found,
        tensors=locked.tensors if locked else None,
        tensor_bytes=locked.tensor_bytes if locked else None,
        stated=None if stated is None else Term("weights", stated, "the catalog, as its source states it"),
    )
    if container.options.get("quantization") != "fp8" or locked is None or isinstance(facts.shape, Unknown):
        return term
    return weights.quantized_at_load(term, options=found, tensors=locked.tensors, width=facts.shape.width)


def _drafter(container: Container, found: Options, known: Models) -> Term | None:
    name = (container.speculative or {}).get("model")
    if name is None:
        return None
    locked = known.get(name)
    # Every rank of a group holds the whole drafter unless it is told otherwise.
    alone = found._replace(tensor_parallel_size=1, pipeline_parallel_size=1)
    told = _known(container)
    stated = told.drafter_bytes if told else None
    return weights.weights(
        "drafter",
        options=alone,
        tensors=locked.tensors if locked else None,
        tensor_bytes=locked.tensor_bytes if locked else None,
        stated=None if stated is None else Term("drafter", stated, "the catalog, as its source states it"),
    )
