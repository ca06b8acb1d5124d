"""Measure points: rounds of requests, until enough were measured or the time is over.

Each round measures all points once. A disturbance, or a machine that gets warm, then affects all points alike, and a
run that is interrupted has the same number of rounds for each point.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from threading import Event
from typing import Final, NamedTuple

from sparkiac.bench import client, counters, points
from sparkiac.bench.client import ApiEndpoint, Chat, Sample
from sparkiac.bench.counters import Counters
from sparkiac.bench.points import CALIBRATION, Kind, Length, Point, Prompts, Sizes, length
from sparkiac.upstream import parallel
from sparkiac.upstream.streaming import ServerError

_WARM_TOKENS: Final = 8
_GAIN: Final = 1.05
"""A load with less than 5 % more throughput than the best one before it is flat."""
_FLAT: Final = 2
"""A sweep over increasing loads ends after this many flat ones in succession."""


class Round(NamedTuple):
    """The requests of a point that were measured together."""

    point: Point
    seconds: float
    """Seconds from the first request to the end of the last one."""
    samples: tuple[Sample, ...]
    grown: Counters | None
    """Growth of the server's counters during the round."""
    others: bool
    """Whether the server handled requests of other clients as well."""

    @property
    def good(self) -> tuple[Sample, ...]:
        """Return the samples without an error."""
        return tuple(sample for sample in self.samples if sample.error is None)

    @property
    def throughput(self) -> float:
        """Return the generated tokens per second of all requests together."""
        return client.throughput(sum(sample.output_tokens for sample in self.good), self.seconds)


class BenchSession(NamedTuple):
    """Values that all rounds of a run share."""

    endpoint: ApiEndpoint
    prompts: Prompts
    thinking: bool | None
    stopped: Event
    until_s: float
    """Time of the monotonic clock at which the run ends."""
    on_progress: Callable[[str], None]
    """Called with the progress as text."""
    lengths: dict[Kind, Length] = {}  # noqa: RUF012  filled by `prepare`

    @property
    def left_s(self) -> float:
        """Return the remaining time."""
        return self.until_s - time.monotonic()


def prepare(session: BenchSession, listed: Sequence[Point]) -> None:
    """Measure how long prompts are, and warm the server up with one short response at each point.

    Raises ServerError.
    """
    for kind in sorted({point.kind for point in listed}):
        session.on_progress(f"measuring the length of prompts: {kind}")
        found = [_tokens(session, kind, units) for units in CALIBRATION]
        session.lengths[kind] = length((found[0], found[1]))
    for point in listed:
        if session.left_s > 0:
            session.on_progress(f"warming up: {point.name}")
            _round(session, point._replace(output_tokens=min(_WARM_TOKENS, point.output_tokens), rate=None))


def repeat(session: BenchSession, listed: Sequence[Point], runs: int) -> Iterator[Round]:
    """Yield rounds of all points; end early if the next round would not end in time."""
    took: dict[str, float] = {}
    for number in range(runs):
        for point in listed:
            if session.left_s < took.get(point.name, 0.0):
                return
            session.on_progress(f"round {number + 1} of {runs}: {point.name}")
            found = _round(session, point)
            took[point.name] = found.seconds
            yield found


def sweep(session: BenchSession, listed: Sequence[Point], runs: int) -> Iterator[Round]:
    """Yield rounds with increasing concurrency until the throughput is flat; then repeat these rounds."""
    used, best, flat = list[Point](), 0.0, 0
    for point in listed:
        if session.left_s <= 0:
            return
        session.on_progress(f"looking for the knee: {point.name}")
        found = _round(session, point)
        yield found
        used.append(point)
        flat = 0 if found.throughput > best * _GAIN else flat + 1
        best = max(best, found.throughput)
        if flat == _FLAT:
            break
    yield from repeat(session, used, runs - 1)


def rates(session: BenchSession, sizes: Sizes) -> tuple[float, ...]:
    """Measure the requests per second under full load, and return the rates of mode `rate`."""
    burst = points.burst(sizes)
    session.on_progress(f"measuring the highest rate with {burst.requests} concurrent requests")
    found = _round(session, burst)
    completed = len(found.good) / found.seconds
    return tuple(float(f"{share * completed:.2g}") for share in points.SHARES) if completed else ()


def _tokens(session: BenchSession, kind: Kind, units: int) -> int:
    """Return the tokens of a prompt, as the server counts them."""
    found = client.measure(
        session.endpoint, Chat(session.prompts.text(kind, units), 1), session.stopped, session.until_s
    )
    if found.error is not None and not found.prompt_tokens:
        raise ServerError(found.error)
    return found.prompt_tokens


def _round(session: BenchSession, point: Point) -> Round:
    units = session.lengths[point.kind].units(point.prompt_tokens)
    texts = [session.prompts.text(point.kind, units) for _ in range(point.requests)]
    chats = [Chat(text, point.output_tokens, session.thinking) for text in texts]
    long = _long(session, point)
    before = counters.read(session.endpoint)
    began = time.monotonic()
    samples = tuple(_sent(session, chats, point) if long is None else _stalled(session, chats, long))
    seconds = time.monotonic() - began
    grown = after.since(before) if (after := counters.read(session.endpoint)) and before else None
    measured = samples if long is None else tuple(each for each in samples if each.output_tokens > 1 or each.error)
    return Round(point, seconds, measured, grown, _others(before, grown, samples))


def _long(session: BenchSession, point: Point) -> Chat | None:
    """Return the request with the long prompt that the others wait for."""
    units = session.lengths[point.kind].units(point.long_tokens)
    return Chat(session.prompts.text(point.kind, units), 1) if point.long_tokens else None


def _stalled(session: BenchSession, chats: Sequence[Chat], long: Chat) -> Iterator[Sample]:
    """Send requests, and the one with the long prompt when the first of them generates."""
    began = Event()

    def send(chat: Chat) -> Sample:
        if chat is long:
            began.wait()
        return client.measure(session.endpoint, chat, session.stopped, session.until_s, None if chat is long else began)

    for _, sample in parallel.each((*chats, long), send, threads=len(chats) + 1):
        yield sample


def _sent(session: BenchSession, chats: Sequence[Chat], point: Point) -> Iterator[Sample]:
    """Send requests: a constant number at a time, or at random times whether or not the server keeps up."""
    rate = point.rate
    gaps = (random.expovariate(rate) if rate else 0.0 for _ in chats[1:])
    due = zip(accumulate(gaps, initial=0.0), chats, strict=True)
    began = time.monotonic()

    def send(each: tuple[float, Chat]) -> Sample:
        session.stopped.wait(max(0.0, began + each[0] - time.monotonic()))
        return client.measure(session.endpoint, each[1], session.stopped, session.until_s)

    for _, sample in parallel.each(due, send, threads=len(chats) if rate else point.concurrency):
        yield sample


def _others(before: Counters | None, grown: Counters | None, samples: Sequence[Sample]) -> bool:
    """Return whether other clients were served: requests ran before, or more tokens were generated than received."""
    if before is None or grown is None:
        return False
    received = sum(sample.output_tokens for sample in samples)
    complete = all(sample.error is None for sample in samples)
    generated = grown.values.get("generated_tokens", 0.0)
    return bool(before.busy) or (complete and generated > received)
