"""Predict the memory of a start from a recorded start: from its figures, or from formulas that they correct."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from sparkiac.memory import options, overhead
from sparkiac.memory.layers import Shape
from sparkiac.memory.options import Speculation
from sparkiac.memory.overhead import Device
from sparkiac.memory.speed import Range
from sparkiac.memory.values import GIB, Unknown, least_bytes
from sparkiac.model.facts import Prefill
from sparkiac.model.inventory import Measured
from sparkiac.model.records import Speed, StartRecord, StartSubject

_NOISE: Final = 0.05
"""Relative difference that is expected between two measurements of the same speed."""
MEASURED: Final = "measured: "
"""Beginning of the source of a measured speed."""
_REPEATED_BYTES: Final = 12 * GIB // 10
"""Difference of the memory outside PyTorch between starts of one model on one DGX Spark: 1.15 GiB in two starts of
Gemma-3-12B, up to 0.94 GiB in five of Gemma-4-31B."""
_NOT_RECORDED: Final = "not recorded"


def differences(record: StartRecord, subject: StartSubject) -> tuple[str, ...]:
    """Return why a record does not count for a server; empty if it does."""
    then = record.subject
    pairs = {
        "image": (then.digest, subject.digest),
        "model": (then.model, subject.model),
        "commit": (then.commit, subject.commit),
        "platform": (then.platform, subject.platform),
        "hosts": (then.hosts, subject.hosts),
        "speculation": (then.drafts, subject.drafts),
        **{name: (then.options.get(name), subject.options.get(name)) for name in {**then.options, **subject.options}},
    }
    named = {"image", "commit"}
    return tuple(
        f"{name} is {_text(before)} in the record and {_text(now)} in the plan"
        for name, (before, now) in sorted(pairs.items())
        if before != now or (name in named and now is None)
    )


def requested_bytes(record: StartRecord) -> int | None:
    """Return the memory that the start requested, if the record has it or its parts."""
    terms, share = record.terms, record.subject.options.get("gpu_memory_utilization")
    if terms.requested_bytes is not None or terms.visible_bytes is None or not isinstance(share, int | float):
        return terms.requested_bytes
    return math.ceil(terms.visible_bytes * share)


def overhead_bytes(record: StartRecord) -> int | None:
    """Return the requested memory without weights and KV cache; None if a part is unknown."""
    return overhead.measured_bytes(requested_bytes(record), record.terms.weights_bytes, record.terms.pool_bytes)


def calibration(record: StartRecord, *, drafter_bytes: int) -> Measured:
    """Return the measurements of a start. The record has one size for the weights of model and drafter."""
    terms, cached = record.terms, record.cached
    weights = None if terms.weights_bytes is None else max(0, terms.weights_bytes - drafter_bytes)
    return Measured(
        weights_bytes=weights,
        overhead_bytes=overhead_bytes(record),
        graphs_bytes=terms.graphs_bytes,
        pool_bytes=terms.pool_bytes,
        tokens=cached.tokens,
        context=cached.context,
    )


def corrected(device: Device, record: StartRecord, *, shape: Shape, release: tuple[int, ...]) -> Device:
    """Return the memory outside PyTorch of a start of the same model: what the formulas of the other terms leave."""
    took = overhead_bytes(record)
    drafts = record.subject.drafts
    read = options.read(record.subject.options, release=release, drafts=drafts.tokens if drafts else 0)
    if took is None or isinstance(read, Unknown):
        return device
    speculation = Speculation(drafts.method, drafts.tokens) if drafts else None
    terms = overhead.inside(overhead.OverheadFacts(read, shape, speculation, device._replace(non_torch_bytes=0), None))
    # The formulas can exceed what the record measured at its batch size; the recorded memory is the minimum.
    rest = max(took - least_bytes(terms), record.terms.non_torch_bytes or 0)
    return device._replace(
        non_torch_bytes=rest,
        source=f"a recorded start: {record.source.link}",
        low_bytes=max(0, rest - _REPEATED_BYTES),
        high_bytes=rest + _REPEATED_BYTES,
    )


def decode(record: StartRecord, *, context: int, expected: Range, at: dict[int, Range]) -> Range | None:
    """Return the measured decode speed of one request, scaled to a context by the expected speeds.

    `at` has the expected speed at each recorded context.
    """
    measured = _nearest(record, context)
    if measured is None:
        return None
    nearest, found = measured
    then = at.get(nearest)
    scale = 1.0 if then is None else math.sqrt(expected.low * expected.high / (then.low * then.high))
    return found._replace(low=found.low * scale, high=found.high * scale)


def decodes(record: StartRecord) -> tuple[tuple[int, Range], ...]:
    """Return the measured decode speeds of one request, by context."""
    found = (_nearest(record, context) for context in sorted(set(contexts(record))))
    return tuple(each for each in found if each is not None)


def contexts(record: StartRecord) -> tuple[int, ...]:
    """Return the contexts at which decode was measured."""
    return tuple(each.context or 0 for each in _single(record))


def prefill(record: StartRecord) -> Prefill | None:
    """Return the measured prefill rates of one request."""
    measured = [each for each in record.speeds if each.kind == "prefill" and each.concurrency == 1]
    known = [rate for each in measured for rate in (each.rate, each.low, each.high) if rate is not None]
    return Prefill(low=min(known), high=max(known), source=_source(record, measured)[:200]) if known else None


def _nearest(record: StartRecord, context: int) -> tuple[int, Range] | None:
    """Return the nearest measured context, and the range of decode speeds that were measured there."""
    nearest = min(contexts(record), key=lambda each: abs(each - context), default=None)
    if nearest is None:
        return None
    there = [each for each in _single(record) if (each.context or 0) == nearest]
    low = min(each.low or each.rate * (1 - _NOISE) for each in there)
    high = max(each.high or each.rate * (1 + _NOISE) for each in there)
    return nearest, Range(low, high, _source(record, there))


def _single(record: StartRecord) -> tuple[Speed, ...]:
    return tuple(each for each in record.speeds if each.kind == "decode" and each.concurrency == 1)


def _source(record: StartRecord, speeds: Sequence[Speed]) -> str:
    """Return where measured speeds come from: their bench records, or the source of the recorded start."""
    return f"{MEASURED}{', '.join(dict.fromkeys(each.source or record.source.link for each in speeds))}"


def _text(value: object) -> str:
    return _NOT_RECORDED if value is None else str(value)
