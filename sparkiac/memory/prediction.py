"""Prediction of the memory of one server, from its facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.memory import fit, layers, options, recorded, shape
from sparkiac.memory.blocks import cache
from sparkiac.memory.budget import server
from sparkiac.memory.layers import Shape
from sparkiac.memory.options import Speculation
from sparkiac.memory.overhead import UNIFIED
from sparkiac.memory.values import Unknown, least_bytes, total_bytes, unknown_of
from sparkiac.memory.weights import quantized_at_load, weights

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.memory.blocks import Cache
    from sparkiac.memory.budget import ServerMemory
    from sparkiac.memory.fit import Advice, Fit, UtilizationStep
    from sparkiac.memory.options import ServerOptions
    from sparkiac.memory.values import Term
    from sparkiac.model.facts import Architecture
    from sparkiac.model.inventory import Measured, Workload
    from sparkiac.model.lock import LockedModel
    from sparkiac.model.records import StartRecord

_STEPS: Final = (-0.05, 0.05)


class Checkpoint(NamedTuple):
    """One checkpoint: its pin in the lock, and the facts of the catalog."""

    locked: LockedModel | None = None
    """config.json and tensors of the pinned commit."""
    architecture: Architecture | None = None
    """The catalog's facts, used if the lock has no config.json."""
    stated: Term | None = None
    """Size of the weights on all ranks, if a source states it; used if the lock has no tensors."""


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
    read = options.read(setup.given, release=setup.release)
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
    if locked is not None and locked.config:
        return shape.read(locked.config)
    return Unknown(("config.json",)) if known is None else layers.shape_of(known)


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
