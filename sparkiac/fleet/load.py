"""The load of a model server, from two readings of its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from sparkiac import engines
from sparkiac.engines import Metric
from sparkiac.fleet.facts import Reading

QUANTITIES: Final = ("running", "waiting", "kv_use", "generated_tokens", "generation_rate")


class Load(NamedTuple):
    """Load of a server; a value that its engine does not expose is None."""

    kv_use: float | None = None
    """Used part of the KV cache, 0 to 1; with several engines behind one server, that of the fullest."""
    running: int | None = None
    waiting: int | None = None
    tokens_per_s: float | None = None
    """Generated tokens per second."""


def names() -> tuple[str, ...]:
    """Return the names of the metrics that are read."""
    return engines.metric_names(*QUANTITIES)


def load(engine: str | None, readings: tuple[Reading, ...] | None) -> Load:
    """Return the load of a server with this engine."""
    if not readings:
        return Load()
    table, last = engines.quantities(engine), readings[-1].values
    kv_use, running, waiting = (_values(table, last, name) for name in ("kv_use", "running", "waiting"))
    return Load(
        max(kv_use) if kv_use else None,
        round(sum(running)) if running else None,
        round(sum(waiting)) if waiting else None,
        _rate(table, readings),
    )


def _values(table: Mapping[str, Metric], values: Mapping[str, tuple[float, ...]], quantity: str) -> tuple[float, ...]:
    return values.get(table[quantity].name, ()) if quantity in table else ()


def _rate(table: Mapping[str, Metric], readings: tuple[Reading, ...]) -> float | None:
    """Return tokens per second: the engine's own figure, or the difference of a counter that grows with each token.

    A counter that grows only when a request ends would show 0 while requests run.
    """
    first, last = readings[0], readings[-1]
    if own := _values(table, last.values, "generation_rate"):
        return sum(own)
    counter = table.get("generated_tokens")
    seconds = last.at_s - first.at_s
    if counter is None or counter.at_end or seconds <= 0 or not last.values.get(counter.name):
        return None
    tokens = sum(last.values[counter.name]) - sum(first.values.get(counter.name, ()))
    return tokens / seconds if tokens >= 0 else None  # the server was restarted between the readings
