"""Starts of vLLM: their phases, from the log, and recorded starts with the speeds that a bench measured.

The lines are those of vLLM 0.19.0 to 0.32.0; their clock has whole seconds. The phases follow each other without a gap,
so that their sum is the time until the server accepts requests. The next plan uses the speeds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from sparkiac.bench import comparison, summary
from sparkiac.bench.summary import Quantity
from sparkiac.memory import startup
from sparkiac.model.bench import BenchRecord, Phase, PointRecord
from sparkiac.model.records import FASTEST, RecordSource, Speed, StartRecord, StartSubject

_TIME: Final = re.compile(r"\b(?:INFO|WARNING|DEBUG|ERROR) (\d\d-\d\d \d\d:\d\d:\d\d) ")
_LEAP_YEAR: Final = 2024
"""The log has no year: 29 February must be valid."""
_ENGINE: Final = "Initializing a V1 LLM engine"
_LOADED: Final = re.compile(r"(?:Model loading|Loading weights) took ")
_INITIALISED: Final = re.compile(r"init engine \([^)]*\) took ")
_READY: Final = "Application startup complete"
_COMPILED: Final = re.compile(r"torch\.compile (?:took|takes) (\d+(?:\.\d+)?) s in total")
_CAPTURED: Final = re.compile(r"Graph capturing finished in (\d+(?:\.\d+)?) secs")
_ROUNDS: Final = 3
"""Fewest rounds from which a speed is recorded."""
_LONG: Final = 1000
"""Fewest tokens of a prompt from which a prefill rate is recorded: a short one takes as long as its overhead."""
_DIGITS: Final = 4


class _Marks(NamedTuple):
    """Times of the lines between the phases."""

    first: datetime
    engine: datetime
    loaded: datetime
    initialised: datetime
    ready: datetime


def phases(log: str) -> tuple[Phase, ...]:
    """Return the phases of the last complete start of a log; empty if there is none."""
    lines = startup.last_start(log, reached=_INITIALISED.pattern).splitlines()
    marks = _marks(lines)
    if marks is None:
        return ()
    text = "\n".join(lines)
    initialising = _seconds(marks.loaded, marks.initialised)
    compiled = min(_largest(_COMPILED, text), initialising)
    captured = min(_largest(_CAPTURED, text), initialising - compiled)
    found = (
        ("imports and configuration", _seconds(marks.first, marks.engine)),
        ("weights", _seconds(marks.engine, marks.loaded)),
        ("compilation", compiled),
        ("CUDA graphs", captured),
        ("profiling, KV cache and warm-up", initialising - compiled - captured),
        ("API server", _seconds(marks.initialised, marks.ready)),
    )
    return tuple(Phase(name=name, seconds=round(seconds, 2)) for name, seconds in found)


def _marks(lines: list[str]) -> _Marks | None:
    times: dict[str, datetime] = {}
    now: datetime | None = None
    for line in lines:
        now = _time(line) or now
        if now is None:
            continue
        times.setdefault("first", now)
        if _ENGINE in line:
            times["engine"] = now
        elif _LOADED.search(line) and "initialised" not in times:
            times["loaded"] = now
        elif _INITIALISED.search(line):
            times["initialised"] = now
        elif _READY in line and "initialised" in times:
            times.setdefault("ready", now)
    return _Marks(**times) if set(times) == set(_Marks._fields) else None


def _time(line: str) -> datetime | None:
    found = _TIME.search(line)
    try:
        return datetime.strptime(f"{_LEAP_YEAR}-{found[1]}", "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC) if found else None
    except ValueError:
        return None


def _seconds(begin: datetime, end: datetime) -> float:
    """Return the time between two lines. A start on the last evening of a year ends in the next one."""
    found = end - begin
    return (found + timedelta(days=366) if found < timedelta(0) else found).total_seconds()


def _largest(pattern: re.Pattern[str], text: str) -> float:
    """Return the largest figure: each rank of a group prints one, and all wait for the slowest."""
    return max((float(found) for found in pattern.findall(text)), default=0.0)


def recorded(subject: StartSubject, found: BenchRecord, link: str) -> StartRecord | None:
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
