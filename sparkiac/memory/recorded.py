"""What a recorded start says about the next one: exactly, or as a correction of the formulas."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from sparkiac.memory import options, overhead
from sparkiac.memory.options import Speculation
from sparkiac.memory.speed import Range
from sparkiac.memory.values import Unknown, known_bytes
from sparkiac.model.facts import Prefill
from sparkiac.model.inventory import Measured

if TYPE_CHECKING:
    from sparkiac.memory.layers import Shape
    from sparkiac.memory.overhead import Device
    from sparkiac.model.records import Speed, StartRecord, Subject

_NOISE: Final = 0.05
"""Share by which a measured speed of one value can differ from the next measurement."""
_ANY: Final = "not recorded"


def differences(record: StartRecord, subject: Subject) -> tuple[str, ...]:
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
    requested, weights, pool = requested_bytes(record), record.terms.weights_bytes, record.terms.pool_bytes
    if requested is None or weights is None or pool is None or requested < weights + pool:
        return None
    return requested - weights - pool


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
    """Return what a start of the same model needed outside PyTorch, by the formulas of the other terms."""
    took = overhead_bytes(record)
    read = options.read(record.subject.options, release=release)
    if took is None or isinstance(read, Unknown):
        return device
    drafts = record.subject.drafts
    speculation = Speculation(drafts.method, drafts.tokens) if drafts else None
    terms = overhead.inside(overhead.Facts(read, shape, speculation, device._replace(non_torch_bytes=0), None))
    # The formulas can exceed the record at its batch size, and not at another one: what is certain is never left out.
    rest = max(took - known_bytes(terms), record.terms.non_torch_bytes or 0)
    return device._replace(non_torch_bytes=rest, source=f"a recorded start: {record.source.link}")


def decode(record: StartRecord, *, context: int, expected: Range, at: dict[int, Range]) -> Range | None:
    """Return the measured decode speed of one request, scaled to a context by the expected speeds.

    `at` has the expected speed at each recorded context.
    """
    measured = _nearest(record.speeds, context)
    if measured is None:
        return None
    then = at.get(measured.context or 0)
    scale = 1.0 if then is None else math.sqrt(expected.low * expected.high / (then.low * then.high))
    low, high = measured.low or measured.rate * (1 - _NOISE), measured.high or measured.rate * (1 + _NOISE)
    return Range(low * scale, high * scale, f"measured: {record.source.link}")


def contexts(record: StartRecord) -> tuple[int, ...]:
    """Return the contexts at which decode was measured."""
    return tuple(each.context or 0 for each in record.speeds if each.kind == "decode" and each.concurrency == 1)


def prefill(record: StartRecord) -> Prefill | None:
    """Return the measured prefill rates of one request."""
    rates = [rate for each in record.speeds if each.kind == "prefill" for rate in (each.rate, each.low, each.high)]
    known = [rate for rate in rates if rate is not None]
    return Prefill(low=min(known), high=max(known), source=f"measured: {record.source.link}"[:200]) if known else None


def _nearest(speeds: tuple[Speed, ...], context: int) -> Speed | None:
    single = [each for each in speeds if each.kind == "decode" and each.concurrency == 1]
    return min(single, key=lambda each: abs((each.context or 0) - context), default=None)


def _text(value: object) -> str:
    return _ANY if value is None else str(value)
