"""Make a recorded start from a bench record: the measured speeds, which the next plan uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.bench import comparison, summary
from sparkiac.bench.summary import Quantity
from sparkiac.model.bench import BenchRecord, PointRecord
from sparkiac.model.records import FASTEST, RecordSource, Speed, StartRecord, StartSubject

_ROUNDS: Final = 3
"""Fewest rounds from which a speed is recorded."""
_LONG: Final = 1000
"""Fewest tokens of a prompt from which a prefill rate is recorded: a short one takes as long as its overhead."""
_DIGITS: Final = 4


def start(subject: StartSubject, found: BenchRecord, link: str) -> StartRecord | None:
    """Return the recorded start of a run; None if it has no speed that a plan can use.

    Rounds with failed requests, and rounds while other clients were served, do not count.
    """
    clean = [_clean(point) for point in found.points]
    speeds = tuple(speed for point in clean for speed in _speeds(point, link))
    if not speeds:
        return None
    rounds = tuple(each for point in clean for each in point.rounds)
    drafts = summary.speculation(found.points[0].model_copy(update={"rounds": rounds}))
    return StartRecord(
        subject=subject,
        speeds=speeds,
        acceptance=None if drafts is None else _share(drafts.acceptance),
        source=RecordSource(grade="bench", link=link, taken=found.taken),
    )


def _clean(point: PointRecord) -> PointRecord:
    rounds = tuple(each for each in point.rounds if each.ttft_s and not each.errors and not each.others)
    return point.model_copy(update={"rounds": rounds})


def _speeds(point: PointRecord, link: str) -> Iterator[Speed]:
    """Return the speeds of a point. Requests at random times and those that wait for a long prompt have none."""
    if len(point.rounds) < _ROUNDS or point.rate is not None or point.long_tokens:
        return
    if point.concurrency > 1:
        yield from _speed(point, summary.THROUGHPUT, "aggregate", link)
        return
    if summary.shows_decode(point):
        yield from _speed(point, summary.DECODE, "decode", link)
    if summary.prompt(point) >= _LONG and summary.from_cache(point) <= summary.CACHED:
        yield from _speed(point, summary.PREFILL, "prefill", link)


def _speed(point: PointRecord, quantity: Quantity, kind: str, link: str) -> Iterator[Speed]:
    spread = summary.spread(summary.by_round(point, quantity))
    if spread is None or spread.p90 > FASTEST:
        return
    drafts = summary.speculation(point)
    low, high = spread.median * (1 - comparison.SMALLEST), spread.median * (1 + comparison.SMALLEST)
    rates = {"rate": spread.median, "low": min(spread.p10, low), "high": max(spread.p90, high)}
    yield Speed.model_validate(
        {
            "kind": kind,
            **{name: float(f"{rate:.{_DIGITS}g}") for name, rate in rates.items()},
            "context": summary.prompt(point),
            "concurrency": point.concurrency,
            "acceptance": None if drafts is None else _share(drafts.acceptance),
            "note": None if point.kind == "filler" else point.kind,
            "source": link,
        }
    )


def _share(value: float) -> float:
    return round(min(value, 1.0), _DIGITS)
