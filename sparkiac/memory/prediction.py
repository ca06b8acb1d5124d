"""From the facts of one server to all that can be said of its memory: the one call that plans need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.memory import counts, fit, options, shape
from sparkiac.memory.blocks import cache
from sparkiac.memory.budget import server
from sparkiac.memory.options import Speculation
from sparkiac.memory.values import Unknown, lacking, total_bytes
from sparkiac.memory.weights import quantized_at_load, weights

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.memory.blocks import Cache
    from sparkiac.memory.budget import Server
    from sparkiac.memory.counts import Counts
    from sparkiac.memory.fit import Advice, Fit, Step, Workload
    from sparkiac.memory.layers import Shape
    from sparkiac.memory.options import Options
    from sparkiac.memory.values import Calibration, Term

_STEPS: Final = (-0.05, 0.05)


class Network(NamedTuple):
    """What is known of one checkpoint."""

    config: Mapping[str, object] | None = None
    """Its config.json."""
    counts: Counts | None = None
    """What a recipe says, used where no config.json is known."""
    tensors: Mapping[str, int] = {}
    """Element type of safetensors → elements."""
    tensor_bytes: int | None = None
    stated: Term | None = None
    """Size of the weights on all ranks, where a source states it."""


class Facts(NamedTuple):
    """What is known of one server before it starts."""

    name: str
    network: Network
    given: Mapping[str, object]
    """The engine's options in snake_case."""
    release: tuple[int, ...]
    """vLLM's release."""
    total_bytes: int | None
    """Memory that CUDA sees of the host, or of the smallest host of a group."""
    workload: Workload | None = None
    """None: one request of the whole context."""
    method: str | None = None
    """How it drafts, in vLLM's word."""
    draft_tokens: int = 0
    drafter: Network | None = None
    """The drafter, where it is a model of its own."""
    calibration: Calibration | None = None
    """What an earlier start has measured."""


class Prediction(NamedTuple):
    """All that can be said of one server. Each part is a value, or Unknown with the names of what lacks."""

    options: Options | Unknown
    shape: Shape | Unknown
    cache: Cache | Unknown
    server: Server | Unknown
    fit: Fit | Unknown
    advice: Advice | Unknown
    """For the stated workload."""
    steps: tuple[Step | Unknown, ...]
    """What 0.05 less and 0.05 more of utilization buy."""


def predict(facts: Facts) -> Prediction:
    """Give all that can be said of the memory of one vLLM server."""
    read = options.read(facts.given, release=facts.release, visible_bytes=facts.total_bytes)
    formed = shape_of(facts.network)
    speculation = _speculation(facts)
    wrong = lacking(read, formed, speculation)
    if isinstance(read, Unknown):
        return Prediction(read, formed, wrong or read, read, wrong or read, wrong or read, ())
    drafting = None if isinstance(speculation, Unknown) else speculation
    placed = _placed(facts, read, formed, drafting)
    if wrong or isinstance(formed, Unknown):
        missing = wrong or Unknown(())
        return Prediction(read, formed, missing, placed, _fit(missing, placed, facts, read), missing, ())
    layout = cache(formed, read, speculation=drafting)
    return Prediction(
        options=read,
        shape=formed,
        cache=layout,
        server=placed,
        fit=_fit(layout, placed, facts, read),
        advice=fit.advise(
            facts.workload or fit.Workload(1, read.max_model_len or formed.context or 0),
            server=placed,
            total=facts.total_bytes,
            shape=formed,
            options=read,
            speculation=drafting,
        ),
        steps=_steps(layout, placed, read, facts.total_bytes),
    )


def shape_of(network: Network) -> Shape | Unknown:
    """Give the shape of a network, by its config.json if that is known and understood, else by counts."""
    if network.config is not None:
        return shape.read(network.config)
    return Unknown(("config.json",)) if network.counts is None else counts.shaped(network.counts)


def _speculation(facts: Facts) -> Speculation | Unknown | None:
    if facts.method is None:
        return None
    formed = shape_of(facts.drafter) if facts.drafter else None
    if isinstance(formed, Unknown):
        return Unknown(tuple(f"{name} of the drafter" for name in formed.missing))
    return Speculation(facts.method, facts.draft_tokens, formed)


def _placed(facts: Facts, read: Options, formed: Shape | Unknown, drafting: Speculation | None) -> Server:
    drafter = facts.drafter
    return server(
        facts.name,
        total_bytes=facts.total_bytes,
        options=read,
        weights=_weights("weights", facts.network, read, facts.given, formed),
        shape=None if isinstance(formed, Unknown) else formed,
        drafter=_weights("drafter", drafter, read, {}, formed) if drafter else None,
        speculation=drafting,
        calibration=facts.calibration,
    )


def _weights(name: str, network: Network, read: Options, given: Mapping[str, object], formed: Shape | Unknown) -> Term:
    whole = weights(
        name, options=read, tensors=network.tensors, tensor_bytes=network.tensor_bytes, stated=network.stated
    )
    if given.get("quantization") != "fp8" or isinstance(formed, Unknown):
        return whole
    return quantized_at_load(whole, options=read, tensors=network.tensors, width=formed.width)


def _fit(layout: Cache | Unknown, placed: Server, facts: Facts, read: Options) -> Fit | Unknown:
    pool = placed.pool.size_bytes
    if pool is None:
        wrong = lacking(layout, total_bytes((placed.requested, *placed.inside)))
        return wrong or Unknown((placed.pool.name,))
    if isinstance(layout, Unknown):
        before = facts.calibration
        found = fit.measured(pool, calibration=before, options=read) if before else None
        return found or layout
    return fit.fit(layout, pool, max_num_seqs=read.max_num_seqs)


def _steps(layout: Cache | Unknown, placed: Server, read: Options, total: int | None) -> tuple[Step | Unknown, ...]:
    if isinstance(layout, Unknown) or total is None or read.kv_cache_memory_bytes is not None:
        return ()
    nearby = (round(read.gpu_memory_utilization + change, 4) for change in _STEPS)
    return tuple(fit.step(placed, layout, total=total, utilization=each) for each in nearby if 0 < each <= 1)
