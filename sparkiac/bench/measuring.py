"""One run of the bench, from the facts of the hosts to the record and its file.

An interrupt ends it; the rounds so far are kept.
"""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Event
from typing import Any, Final, NamedTuple

from sparkiac import __version__
from sparkiac.bench import foreign, points, runner, summary, target, tool_calls
from sparkiac.bench.points import Point, Prompts, Sizes
from sparkiac.bench.runner import BenchSession, Round
from sparkiac.bench.target import BenchTarget
from sparkiac.model.bench import BenchHost, BenchRecord, PointRecord, RoundRecord
from sparkiac.upstream.streaming import ServerError, StoppedError

_DIGITS: Final = 6
"""Times are rounded to microseconds."""


class BenchJob(NamedTuple):
    """What to measure."""

    mode: str
    sizes: Sizes
    levels: tuple[float, ...]
    thinking: bool | None
    runs: int
    seconds: float
    """Maximum time of the run, in seconds."""
    tool: str | None = None
    """Another benchmark program, which measures instead of sparkiac."""


class Result(NamedTuple):
    """The end of a run."""

    record: BenchRecord
    failed: bool
    """Whether requests failed."""


class _Measurements:
    """The measurements so far."""

    def __init__(self) -> None:
        self.rounds = list[Round]()
        self.calls = list[tuple[str, str | None]]()
        self.notes = list[str]()
        self.after: dict[str, BenchHost] = {}
        self.foreign: BenchRecord | None = None
        self.interrupted = False


def measure(aim: BenchTarget, job: BenchJob, taken: str, on_progress: Callable[[str], None]) -> Result:
    """Measure and return the record. Raises ServerError if the server does not respond at all."""
    found, stopped = _Measurements(), Event()
    until_s = time.monotonic() + job.seconds
    session = BenchSession(aim.endpoint, Prompts(secrets.token_hex(8)), job.thinking, stopped, until_s, on_progress, {})
    on_progress("reading the facts of the hosts" if aim.hosts else "starting")
    before = target.host_facts(aim.hosts)
    try:
        _collect(session, job, found)
        found.after = target.host_facts(aim.hosts)
    except KeyboardInterrupt:
        found.interrupted = True
    except StoppedError:
        text = "the time limit of {:.0f} s ended during a round, which does not count; raise --minutes"
        found.notes.append(text.format(job.seconds))
    except ServerError as error:
        if not found.rounds:
            raise
        found.notes.append(f"ended early: {error}")
    finally:
        stopped.set()  # ends the requests of other threads
    record = _record(aim, job, taken, before, found)
    failed = any(each.errors for point in record.points for each in point.rounds)
    return Result(record, failed)


def text(record: BenchRecord) -> str:
    """Return the file of a record."""
    return (
        json.dumps(record.model_dump(mode="json", exclude_defaults=True) | {"format": record.format}, indent=1) + "\n"
    )


def _collect(session: BenchSession, job: BenchJob, found: _Measurements) -> None:
    if job.tool is not None:
        found.foreign = foreign.run(session, job.tool, job.mode, job.sizes)
        return
    if job.mode == "tools":
        for call in tool_calls.measure(session, job.runs):
            found.calls.append(call)
        return
    for each in _rounds(session, job, found.notes):
        found.rounds.append(each)
    counts = Counter(each.point for each in found.rounds).values()
    if counts and min(counts) < job.runs:
        text = f"{job.seconds:.0f} s ended after {min(counts)} of {job.runs} rounds; raise --minutes"
        found.notes.append(text)


def _rounds(session: BenchSession, job: BenchJob, notes: list[str]) -> Iterator[Round]:
    listed = _planned(session, job, job.levels, notes)
    looks_for_knee = job.mode == "sweep" and not job.levels
    runner.prepare(session, listed[:1] if looks_for_knee else listed)  # high loads may never be reached
    if job.mode == "rate" and not job.levels:
        listed = _planned(session, job, runner.rates(session, job.sizes), notes)
    measured = runner.sweep if looks_for_knee else runner.repeat
    yield from measured(session, listed, job.runs)


def _planned(session: BenchSession, job: BenchJob, levels: Sequence[float], notes: list[str]) -> tuple[Point, ...]:
    """Return the points that fit into the server's context. Raises ServerError if none does."""
    listed = points.points(job.mode, job.sizes, levels)
    if job.mode == "rate" and not levels:
        listed = (points.burst(job.sizes),)
    fits, why = points.fitting(listed, session.endpoint.max_model_len)
    if not fits:
        raise ServerError(f"no request fits: {why[0]}; use smaller --prompt-tokens or --output-tokens")
    notes += [note for note in why if note not in notes]
    return fits


def _record(
    aim: BenchTarget, job: BenchJob, taken: str, before: dict[str, BenchHost], found: _Measurements
) -> BenchRecord:
    other = found.foreign
    record = BenchRecord(
        mode=job.mode,
        tool=other.tool if other else f"sparkiac {__version__}",
        taken=taken,
        subject=aim.subject,
        thinking=job.thinking,
        before=before,
        after=found.after,
        points=other.points if other else _points(found.rounds),
        tools=other.tools if other else tool_calls.collected(found.calls),
        interrupted=found.interrupted,
    )
    first = next((point for point in record.points if summary.requests(point, summary.DECODE)), None)
    expected = target.expected_at(aim.expected, summary.prompt(first)) if first else aim.expected
    return record.model_copy(update={"expected": expected, "notes": (*found.notes, *summary.warnings(record))})


def _points(rounds: Iterable[Round]) -> tuple[PointRecord, ...]:
    """Return the points of some rounds, in the order of their first round."""
    found: dict[Point, list[RoundRecord]] = {}
    for each in rounds:
        found.setdefault(each.point, []).append(_round(each))
    shared = PointRecord.model_fields.keys() & set(Point._fields)
    return tuple(
        PointRecord(**{name: getattr(point, name) for name in shared}, rounds=tuple(listed))
        for point, listed in found.items()
    )


def _round(found: Round) -> RoundRecord:
    grown = found.grown
    columns: dict[str, Any] = {
        name: tuple(round(getattr(sample, name), _DIGITS) for sample in found.good) for name in summary.COLUMNS
    }
    return RoundRecord(
        **columns,
        seconds=round(found.seconds, _DIGITS),
        errors=tuple(sample.error for sample in found.samples if sample.error is not None),
        grown=dict(grown.values) if grown else {},
        positions=tuple(grown.positions[place] for place in sorted(grown.positions)) if grown else (),
        others=found.others,
    )
