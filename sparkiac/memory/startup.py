"""Memory figures of a vLLM startup log, and the measurements for the next prediction.

The lines are those of vLLM 0.15.1, 0.19.0, 0.23.0 and 0.32.0, and of the log that Spark guide L345-348 prints. Sizes
in a log are rounded to 0.01 GiB.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.memory import overhead
from sparkiac.memory.values import GIB, not_negative
from sparkiac.model.inventory import Measured

if TYPE_CHECKING:
    from sparkiac.memory.blocks import Cache
    from sparkiac.memory.budget import ServerMemory

_GIB: Final = r"(?<![\d.-])(-?\d+(?:\.\d+)?) ?GiB"
_COUNT: Final = r"(\d[\d,]*)"
_SIZES: Final = {
    "weights_bytes": rf"Model loading took {_GIB}",
    "pool_bytes": rf"Available KV cache memory: {_GIB}",
    "graphs_bytes": rf"Graph capturing finished in [^\n]{{0,40}}?took {_GIB}",
    "graphs_estimate_bytes": rf"Estimated CUDA graph memory: {_GIB} total",
    "visible_bytes": rf"Free memory on device [^(\n]{{0,40}}\(-?[\d.]+/{_GIB}\)",
    "requested_bytes": rf"Desired GPU memory utilization is \([\d.]+, {_GIB}\)",
    "activations_bytes": rf"{_GIB} for peak activation",
    "runtime_bytes": rf"{_GIB} for non-torch memory",
}
_COUNTS: Final = {
    "tokens": rf"KV cache size: {_COUNT} tokens",
    "context": rf"Maximum concurrency for {_COUNT} tokens per request",
    "block_tokens": rf"Setting attention block size to {_COUNT} tokens",
    "blocks": rf"# GPU blocks: {_COUNT}",
}
_SMALLEST: Final = frozenset({"pool_bytes", "visible_bytes", "requested_bytes"})
"""Sizes of which the smallest rank's counts, because vLLM gives all ranks equally many blocks; else the largest."""
_STARTS: Final = "Initializing a V1 LLM engine"
_HAS_POOL: Final = "Available KV cache memory"
_CONCURRENCY: Final = re.compile(r"tokens per request: ([\d.]+)x")


class Startup(NamedTuple):
    """Figures of a startup log; None if its line is missing. The last start with a KV cache size counts."""

    weights_bytes: int | None = None
    pool_bytes: int | None = None
    graphs_bytes: int | None = None
    graphs_estimate_bytes: int | None = None
    visible_bytes: int | None = None
    """Memory that CUDA sees."""
    requested_bytes: int | None = None
    activations_bytes: int | None = None
    runtime_bytes: int | None = None
    """Memory outside PyTorch."""
    tokens: int | None = None
    context: int | None = None
    block_tokens: int | None = None
    blocks: int | None = None
    concurrency: float | None = None


class Compared(NamedTuple):
    """One figure: predicted and measured."""

    name: str
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """Relative error of the prediction: 0.02 is 2 % too high."""
        return self.predicted / self.measured - 1


def read(log: str) -> Startup:
    """Return the figures of a startup log. Other lines are ignored."""
    start = _last_start(log)
    sizes = {name: _size(name, found) for name, line in _SIZES.items() if (found := re.findall(line, start))}
    counts = {
        name: int(found[-1].replace(",", "")) for name, line in _COUNTS.items() if (found := re.findall(line, start))
    }
    concurrency = _CONCURRENCY.findall(start)
    return Startup(**sizes, **counts, concurrency=float(concurrency[-1]) if concurrency else None)


def calibrate(startup: Startup) -> Measured:
    """Return the measurements of a start. The overhead is unknown if a part of it is unknown, or if it is negative."""
    return Measured(
        weights_bytes=not_negative(startup.weights_bytes),
        overhead_bytes=overhead.measured_bytes(startup.requested_bytes, startup.weights_bytes, startup.pool_bytes),
        graphs_bytes=not_negative(startup.graphs_bytes),
        pool_bytes=not_negative(startup.pool_bytes),
        tokens=startup.tokens,
        context=startup.context,
    )


def compare(startup: Startup, *, server: ServerMemory, cache: Cache | None) -> tuple[Compared, ...]:
    """Return every figure that was predicted and measured."""
    pool = server.pool.size_bytes
    predicted = {
        "weights": server.inside[0].size_bytes,
        "KV cache": pool,
        "tokens": cache.tokens(pool) if cache and pool is not None else None,
        "concurrency": cache.concurrency(pool) if cache and pool is not None else None,
        "block size": cache.block_tokens if cache else None,
    }
    measured = {
        "weights": startup.weights_bytes,
        "KV cache": startup.pool_bytes,
        "tokens": startup.tokens,
        "concurrency": startup.concurrency,
        "block size": startup.block_tokens,
    }
    return tuple(
        Compared(name, value, found)
        for name, value in predicted.items()
        if value is not None and (found := measured[name]) and found > 0
    )


def _last_start(log: str) -> str:
    """Return the part of a log that belongs to the last start with a KV cache pool; the whole log if there is none."""
    starts = log.split(_STARTS)
    return next((start for start in reversed(starts) if _HAS_POOL in start), log)


def _size(name: str, found: list[str]) -> int:
    sizes = [round(float(size) * GIB) for size in found]
    return min(sizes) if name in _SMALLEST else max(sizes)
