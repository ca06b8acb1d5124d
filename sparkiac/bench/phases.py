"""Phases of a start of vLLM, from its log. The lines are those of vLLM 0.19.0 to 0.32.0; their clock has whole seconds.

The phases follow each other without a gap, so that their sum is the time until the server accepts requests.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from sparkiac.memory import startup
from sparkiac.model.bench import Phase

_TIME: Final = re.compile(r"\b(?:INFO|WARNING|DEBUG|ERROR) (\d\d-\d\d \d\d:\d\d:\d\d) ")
_LEAP_YEAR: Final = 2024
"""The log has no year: 29 February must be valid."""
_ENGINE: Final = "Initializing a V1 LLM engine"
_LOADED: Final = re.compile(r"(?:Model loading|Loading weights) took ")
_INITIALISED: Final = re.compile(r"init engine \([^)]*\) took ")
_READY: Final = "Application startup complete"
_COMPILED: Final = re.compile(r"torch\.compile (?:took|takes) (\d+(?:\.\d+)?) s in total")
_CAPTURED: Final = re.compile(r"Graph capturing finished in (\d+(?:\.\d+)?) secs")


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
