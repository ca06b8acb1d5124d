"""Prediction of the memory of one server, from its facts, and the size of its weights on one rank."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.memory import fit, layers, options, recorded, shape
from sparkiac.memory.blocks import cache
from sparkiac.memory.budget import server
from sparkiac.memory.layers import Shape, Width
from sparkiac.memory.options import ServerOptions, Speculation
from sparkiac.memory.overhead import UNIFIED
from sparkiac.memory.values import Term, Unknown, ceil_div, known_bytes, least_bytes, total_bytes, unknown_of

if TYPE_CHECKING:
    from sparkiac.memory.blocks import Cache
    from sparkiac.memory.budget import ServerMemory
    from sparkiac.memory.fit import Advice, Fit, UtilizationStep
    from sparkiac.memory.options import ServerOptions
    from sparkiac.model.facts import Architecture
    from sparkiac.model.inventory import Measured, Workload
    from sparkiac.model.lock import LockedModel
    from sparkiac.model.records import StartRecord

_STEPS: Final = (-0.05, 0.05)
# Bits of the element types of safetensors.
_BITS: Final = {
    **dict.fromkeys(("F64", "I64", "U64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("BF16", "F16", "I16", "U16"), 16),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "F8_E8M0", "I8", "U8", "BOOL"), 8),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    "F4": 4,
}
_WIDE: Final = ("BF16", "F16", "F32")


class Checkpoint(NamedTuple):
    """One checkpoint: its pin in the lock, and the facts of the catalog."""

    locked: LockedModel | None = None
    """config.json and tensors of the pinned commit."""
    architecture: Architecture | None = None
    """The catalog's facts, used if neither the lock nor the catalog has a config.json."""
    stated: Term | None = None
    """Size of the weights on all ranks, if a source states it; used if the lock has no tensors."""
    config: Mapping[str, object] = {}
    """The catalog's config.json, used if the lock has none."""


class Setup(NamedTuple):
    """One server: checkpoint, options, host, and measurements of an earlier start."""

    name: str
    checkpoint: Checkpoint
    given: Mapping[str, object]
    """Options of the engine in snake_case."""
    release: tuple[int, ...]
    """vLLM release."""
    total_bytes: int | None
    """Memory that CUDA sees on the host, or on the smallest host of a group."""
    workload: Workload | None = None
    """Requests to expect; None means one full-length request."""
    method: str | None = None
    """Speculative method, under vLLM's name."""
    draft_tokens: int = 0
    drafter: Checkpoint | None = None
    """The drafter, if it is a separate model."""
    calibration: Measured | None = None
    """Measurements of an earlier start, from the inventory."""
    record: StartRecord | None = None
    """Recorded start of the same server, used if the inventory has no measurements."""
    near: StartRecord | None = None
    """Recorded start of the same model, which corrects the formulas."""
    near_release: tuple[int, ...] = ()
    """vLLM release of that start."""


class Prediction(NamedTuple):
    """Prediction for one server. Each part is a value, or Unknown with the missing facts."""

    options: ServerOptions | Unknown
    shape: Shape | Unknown
    cache: Cache | Unknown
    server: ServerMemory | Unknown
    fit: Fit | Unknown
    advice: Advice | Unknown
    """KV cache that the workload needs, and options that provide it."""
    steps: tuple[UtilizationStep | Unknown, ...]
    """Effects of 0.05 less and 0.05 more utilization."""


def predict(setup: Setup) -> Prediction:
    """Return the prediction for one vLLM server."""
    read = options.read(setup.given, release=setup.release, drafts=setup.draft_tokens)
    formed = shape_of(setup.checkpoint)
    speculation = _speculation(setup)
    wrong = unknown_of(read, formed, speculation)
    if isinstance(read, Unknown):
        return Prediction(read, formed, wrong or read, read, wrong or read, wrong or read, ())
    drafting = None if isinstance(speculation, Unknown) else speculation
    placed = _placed(setup, read, formed, drafting)
    if wrong or isinstance(formed, Unknown):
        missing = wrong or Unknown(())
        return Prediction(read, formed, missing, placed, _fit(missing, placed, setup, read), missing, ())
    layout = cache(formed, read, speculation=drafting)
    return Prediction(
        options=read,
        shape=formed,
        cache=layout,
        server=placed,
        fit=_fit(layout, placed, setup, read),
        advice=fit.advise(
            setup.workload.users if setup.workload else 1,
            setup.workload.context if setup.workload else read.max_model_len or formed.context or 0,
            server=placed,
            total=setup.total_bytes,
            shape=formed,
            options=read,
            speculation=drafting,
        ),
        steps=_steps(layout, placed, read, setup.total_bytes),
    )


def shape_of(checkpoint: Checkpoint) -> Shape | Unknown:
    """Return the shape of a network, from its config.json if known, else from the catalog's architecture."""
    locked, known = checkpoint.locked, checkpoint.architecture
    if config := (locked and locked.config) or checkpoint.config:
        return _read(json.dumps(config, sort_keys=True))
    return Unknown(("config.json",)) if known is None else layers.shape_of(known)


@lru_cache(maxsize=1 << 8)
def _read(config: str) -> Shape | Unknown:
    """Return the shape that a config.json describes; a fleet repeats its models."""
    return shape.read(json.loads(config))


def _speculation(setup: Setup) -> Speculation | Unknown | None:
    if setup.method is None:
        return None
    formed = shape_of(setup.drafter) if setup.drafter else None
    if isinstance(formed, Unknown):
        return Unknown(tuple(f"{name} of the drafter" for name in formed.missing))
    return Speculation(setup.method, setup.draft_tokens, formed)


def _placed(setup: Setup, read: ServerOptions, formed: Shape | Unknown, drafting: Speculation | None) -> ServerMemory:
    drafter = _weights("drafter", setup.drafter, read, {}, formed) if setup.drafter else None
    device = UNIFIED
    if setup.near is not None and isinstance(formed, Shape):
        device = recorded.corrected(device, setup.near, shape=formed, release=setup.near_release)
    return server(
        setup.name,
        total_bytes=setup.total_bytes,
        options=read,
        weights=_weights("weights", setup.checkpoint, read, setup.given, formed),
        shape=None if isinstance(formed, Unknown) else formed,
        drafter=drafter,
        speculation=drafting,
        calibration=calibration_of(setup, least_bytes((drafter,) if drafter else ())),
        device=device,
    )


def calibration_of(setup: Setup, drafter_bytes: int = 0) -> Measured | None:
    """Return the measurements that count: those of the inventory, else those of the recorded start."""
    if setup.calibration is not None or setup.record is None:
        return setup.calibration
    return recorded.calibration(setup.record, drafter_bytes=drafter_bytes)


def _weights(
    name: str, checkpoint: Checkpoint, read: ServerOptions, given: Mapping[str, object], formed: Shape | Unknown
) -> Term:
    locked = checkpoint.locked
    tensors = locked.tensors if locked else {}
    tensor_bytes = locked.tensor_bytes if locked else None
    whole = weights(name, options=read, tensors=tensors, tensor_bytes=tensor_bytes, stated=checkpoint.stated)
    if given.get("quantization") != "fp8" or isinstance(formed, Unknown):
        return whole
    return quantized_at_load(whole, options=read, tensors=tensors, width=formed.width)


def _fit(layout: Cache | Unknown, placed: ServerMemory, setup: Setup, read: ServerOptions) -> Fit | Unknown:
    pool = placed.pool.size_bytes
    if isinstance(pool, Unknown):
        wrong = unknown_of(layout, total_bytes((placed.requested, *placed.inside)))
        return wrong or Unknown((placed.pool.name,))
    if isinstance(layout, Unknown):
        before = calibration_of(setup)
        found = fit.measured(pool, calibration=before, options=read) if before else None
        return found or layout
    return fit.fit(layout, pool, max_num_seqs=read.max_num_seqs)


def _steps(
    layout: Cache | Unknown, placed: ServerMemory, read: ServerOptions, total: int | None
) -> tuple[UtilizationStep | Unknown, ...]:
    if isinstance(layout, Unknown) or total is None or read.kv_cache_memory_bytes is not None:
        return ()
    nearby = (round(read.gpu_memory_utilization + change, 4) for change in _STEPS)
    return tuple(fit.step(placed, layout, total=total, utilization=each) for each in nearby if 0 < each <= 1)


def weights(
    name: str,
    *,
    options: ServerOptions,
    tensors: Mapping[str, int] | None = None,
    tensor_bytes: int | None = None,
    stated: Term | None = None,
) -> Term:
    """Return the weights of one rank: from the tensors of the lock, else from a source's size of all ranks.

    `tensors` maps element types of safetensors to numbers of elements. The ranks share evenly, rounded up. Small
    tensors that every rank holds are ignored; the size is marked as an assumption.
    """
    size, source = _size(tensors, tensor_bytes), "tensors of the locked files"
    if size is None and stated:
        size, source = known_bytes(stated.size_bytes), stated.source
    if size is None:
        return Term(name, Unknown((name,)), "neither the lock nor a source states it")
    ranks = options.ranks
    shared = source if ranks == 1 else f"{source}; an even share of {ranks} ranks"
    return Term(name, ceil_div(size, ranks), shared, assumed=ranks > 1)


def quantized_at_load(whole: Term, *, options: ServerOptions, tensors: Mapping[str, int], width: Width) -> Term:
    """Return the weights of a 16-bit checkpoint after `--quantization fp8`.

    Linear layers shrink from two bytes to one. Embeddings and output layer keep 16 bits, so their size must be known. A
    checkpoint that is already quantized does not change.
    """
    elements = sum(tensors.get(kind, 0) for kind in _WIDE)
    if not tensors or elements < sum(tensors.values()):
        return whole
    if width.hidden is None or width.vocabulary is None:
        return Term(
            whole.name,
            Unknown((whole.name,)),
            "hidden_size and vocab_size decide what --quantization fp8 leaves in 16 bits",
        )
    kept = min(elements, 2 * width.hidden * width.vocabulary)
    ranks = options.ranks
    size = ceil_div(elements - kept + 2 * kept, ranks)
    return Term(whole.name, size, f"{whole.source}; linear layers in 8 bits, embeddings in 16", assumed=True)


def _size(tensors: Mapping[str, int] | None, tensor_bytes: int | None) -> int | None:
    if tensor_bytes is not None:
        return tensor_bytes
    if not tensors or not tensors.keys() <= _BITS.keys():
        return None
    return sum(ceil_div(elements * _BITS[kind], 8) for kind, elements in tensors.items())
