"""The estimated speeds of a server: of decoding, while all servers of the host decode, and of prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from sparkiac import catalog
from sparkiac.memory import recorded, speed
from sparkiac.memory.prediction import Prediction
from sparkiac.memory.values import Unknown, known_bytes, unknown_of
from sparkiac.model.facts import ModelFacts, Prefill
from sparkiac.plan import facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.memory.blocks import Cache
    from sparkiac.memory.budget import ServerMemory
    from sparkiac.memory.layers import Shape
    from sparkiac.memory.speed import Range, Reads
    from sparkiac.model.lock import LockedModel
    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.plan.container import Container
    from sparkiac.plan.start_records import Starts

Models: TypeAlias = "Mapping[str, LockedModel]"
"""Model handle → entry in the lock."""
_SHORT: Final = 1024
"""Tokens in the context of a short request; the decode rate is estimated for it and for the longest request."""
_ACCEPTED: Final = (0.60, 0.85)
"""Acceptance rate of drafted tokens: DeepSeek-V4 thread (nine rows, 55.7 to 79.0 %), Spark guide L594 (80 %)."""


class KnownServer(NamedTuple):
    """A server on a host, and what is known about it."""

    container: Container
    known: Models
    begun: Starts

    @property
    def locked(self) -> LockedModel | None:
        """Return its model in the lock."""
        return self.known.get(self.container.server.model or "")

    @property
    def config(self) -> Mapping[str, object]:
        """Return config.json of its model: that of the pinned commit, else the one that the catalog has."""
        return (self.locked and self.locked.config) or catalog.config(self.container.server.model)

    @property
    def catalogued(self) -> ModelFacts | None:
        """Return the facts of the catalog about its model."""
        return facts.known(self.container.server)

    @property
    def parameters(self) -> tuple[float, float] | tuple[None, None]:
        """Return the total and active parameters, in billions."""
        return (self.catalogued.architecture.parameters if self.catalogued else None) or (None, None)


def decode(it: KnownServer, found: Prediction, server: ServerMemory) -> tuple[tuple[int, Range], ...] | Unknown:
    """Return the decode rate of one request at a short context and at the longest; measured, if a record has it."""
    record = it.begun.exact
    facts_of_speed = _speed(it, found, server, record.acceptance if record else None)
    if isinstance(facts_of_speed, Unknown):
        return (recorded.decodes(record) if record else ()) or facts_of_speed
    longest = facts_of_speed.layout.context
    wanted = sorted({min(_SHORT, longest), longest})
    ranges = {context: facts_of_speed.at(context) for context in wanted}
    if record is None:
        return tuple(ranges.items())
    at = {context: facts_of_speed.at(context) for context in recorded.contexts(record)}
    return tuple(
        (context, recorded.decode(record, context=context, expected=expected, at=at) or expected)
        for context, expected in ranges.items()
    )


def busy(it: KnownServer, found: Prediction, server: ServerMemory, servers: int) -> float | None:
    """Return the lowest expected decode speed at a short context while all servers of the host decode."""
    if servers < 2:  # noqa: PLR2004  two share a memory
        return None
    facts_of_speed = _speed(it, found, server, None)
    if isinstance(facts_of_speed, Unknown):
        return None
    return facts_of_speed.at(min(_SHORT, facts_of_speed.layout.context), servers=servers).low


class _SpeedFacts(NamedTuple):
    """Facts that decide on the decode speed of a server."""

    read: Reads
    layout: Cache
    shape: Shape
    drafting: speed.Drafting | None
    slower_s: float

    def at(self, context: int, *, servers: int = 1) -> Range:
        """Return the expected speed after `context` tokens."""
        return speed.decode(
            self.read,
            self.layout,
            context=context,
            shape=self.shape,
            drafting=self.drafting,
            servers=servers,
            slower_s=self.slower_s,
        )


def _speed(it: KnownServer, found: Prediction, server: ServerMemory, acceptance: float | None) -> _SpeedFacts | Unknown:
    total, active = it.parameters
    read = speed.reads(
        inside(server, "weights"),
        total_params=total,
        active_params=active,
        tensors=it.locked.tensors if it.locked else None,
        width=None if isinstance(found.shape, Unknown) else found.shape.width,
    )
    options, shape, layout = found.options, found.shape, found.cache
    if isinstance(read, Unknown) or isinstance(shape, Unknown) or isinstance(layout, Unknown):
        return unknown_of(read, layout) or Unknown(())
    accepted = _ACCEPTED if acceptance is None else (acceptance,) * 2
    slower_s = 0.0 if isinstance(options, Unknown) else speed.slower_layer_s(shape, options)
    return _SpeedFacts(read, layout, shape, _drafting(it, server, shape, accepted), slower_s)


def inside(server: ServerMemory, name: str) -> int | None:
    """Return the size of a term of the requested memory; None if it is unknown."""
    return next((known_bytes(term.size_bytes) for term in server.inside if term.name == name), None)


def _drafting(
    it: KnownServer, server: ServerMemory, shape: Shape, accepted: tuple[float, float]
) -> speed.Drafting | None:
    drafts = it.container.server.speculative
    if drafts is None:
        return None
    tokens, active_b = drafts.get("num_speculative_tokens") or 0, it.parameters[1]
    size, output = inside(server, "drafter"), (shape.width.hidden or 0) * (shape.width.vocabulary or 0)
    ranks = it.container.server.options.get("tensor_parallel_size") or 1
    return speed.Drafting(
        tokens,
        *accepted,
        drafter_bytes=size or 0,
        output_elements=output // ranks if size is None else 0,
        growth=speed.growth(shape.width, tokens, active_params=None if active_b is None else active_b * 1e9),
    )


def prefill(it: KnownServer, found: Prediction) -> Prefill | Unknown:
    """Return the prefill rate: measured, else published, else that of the class of the network."""
    measured = recorded.prefill(it.begun.exact) if it.begun.exact else None
    active_b = it.parameters[1]
    if known := measured or (it.catalogued.prefill if it.catalogued else None):
        return known
    if isinstance(found.shape, Unknown) or active_b is None:
        return Unknown(("published prefill rate",))
    rates = speed.prefill_rates(found.shape, active_b * 1e9)
    return Prefill(low=rates.low, high=rates.high, source=rates.source)


def capped(rates: Prefill | Unknown, host: ResolvedHost) -> Prefill | Unknown:
    """Return the prefill rate under the clock cap of a host: computing is slower by at most the clock.

    Decoding waits for the memory, whose clock no cap changes.
    """
    cap, full = host.max_gpu_clock_mhz, host.gpu and host.gpu.max_clock_mhz
    if cap is None or not full or cap >= full or isinstance(rates, Unknown):
        return rates
    source = f"{rates.source}; clock capped at {cap:,} of {full:,} MHz"
    return Prefill(low=rates.low * cap / full, high=rates.high, source=source[:200])
