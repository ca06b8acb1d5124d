"""Recognise a sick machine by the series of its samples over two minutes, and bands that this host recorded of itself.

No limit is a constant: what a GPU draws while it works differs between machines, and a cap of its clock moves it. A
band is what this host showed while its engines made progress, for each cap. Utilization says nothing on GB10: a
deadlocked kernel reads as 95 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

WINDOW_S = 120
"""Every sample of so long a time must show the same."""
GAP_S = 90
"""A series with a longer gap is none."""
KEPT = 40
"""Samples that are kept, 20 minutes of them."""
LEAST, MOST = 40, 400
"""Samples of a band before it counts, and at most."""
OUTSIDE = 20
"""One of so many samples of a band lies below it, and one above."""
AHEAD_S = 600
"""A trend counts if it reaches the trip point within this time."""
DEADLOCKED, LOW_POWER, STUCK, HEAT, JOURNAL, KILLED, DRIVER = (
    "deadlocked", "low power", "stuck", "heat", "journal", "killed", "driver",
)  # fmt: skip
REMEDIES = {
    DEADLOCKED: "the unit is restarted, twice an hour at most; then read the logs of all nodes of the group (LOG200)",
    LOW_POWER: "suspected only: drain the host and run /usr/local/lib/sparkiac/watch --load UNIT there (LOG201)",
    STUCK: "shut the host down, take its power cable away for a minute, measure again before anything else (LOG201)",
    HEAT: "check the air flow; max_gpu_clock_mhz of the host lowers it (LOG202)",
    JOURNAL: "look at heat, power and memory before that time; nothing was written after it (LOG203)",
    KILLED: "no crash: a program ended it for want of memory; compare its floor with the plan (LOG204)",
    DRIVER: "reboot: running containers go on until then, new ones fail (DRV005)",
}
"""Sickness → what to do. A remedy that needs the power cable is only named."""


class Work(NamedTuple):
    """What the engine of a ready unit does."""

    running: int
    """Requests that it works on."""
    iterations: float
    """Counter that grows with its steps."""


class Sample(NamedTuple):
    """The host at one time; None for what it does not report."""

    at_s: float
    cap: str
    """Cap of the GPU's clock."""
    power_w: float | None
    clock_mhz: float | None
    heat_c: float | None
    trip_c: float | None
    """Where the machine turns itself off."""
    compiling: bool
    """Whether a compiler of kernels runs: an engine waits for it while requests run."""
    units: Mapping[str, Work]


class Sickness(NamedTuple):
    """Something that is wrong with the machine."""

    kind: str
    unit: str | None
    """Unit that it is about; None for the machine."""
    text: str


Bands = dict[str, list[list[float]]]
"""Cap → power, clock and temperature of samples in which engines made progress, the oldest first."""


def window(samples: list[Sample]) -> list[Sample]:
    """Return the last samples that span WINDOW_S without a gap and with one cap; none if there are not enough."""
    found = samples[-1:]
    for each in reversed(samples[:-1]):
        if found[0].at_s - each.at_s > GAP_S or each.cap != found[0].cap:
            break
        found.insert(0, each)
        if found[-1].at_s - each.at_s >= WINDOW_S:
            return found
    return []


def progressed(before: Sample, after: Sample) -> bool:
    """Return whether an engine worked on requests all the time and made steps."""
    return any(
        work.running and before.units[name].running and work.iterations > before.units[name].iterations
        for name, work in after.units.items()
        if name in before.units
    )


def band(bands: Bands, cap: str, column: int) -> tuple[float, float] | None:
    """Return the lowest and highest usual value while engines work; None before there are enough samples."""
    values = sorted(each[column] for each in bands.get(cap, []))
    outside = len(values) // OUTSIDE
    return (values[outside], values[-1 - outside]) if len(values) >= LEAST else None


def learned(bands: Bands, samples: list[Sample], sick: list[Sickness]) -> Bands:
    """Return the bands with the last sample, if engines made progress and nothing is wrong."""
    if sick or len(samples) < 2 or not progressed(*samples[-2:]):  # noqa: PLR2004  two samples show progress
        return bands
    last = samples[-1]
    values = [last.power_w, last.clock_mhz, last.heat_c]
    if last.cap != samples[-2].cap or None in values:
        return bands
    kept: list[Any] = [*bands.get(last.cap, []), values]
    return {**bands, last.cap: kept[-MOST:]}


def judged(samples: list[Sample], bands: Bands) -> Iterator[Sickness]:
    """Return what the series shows."""
    found = window(samples)
    if not found:
        return
    power, clock, heat = (band(bands, found[-1].cap, column) for column in range(3))
    if power and clock:
        yield from deadlocked(found, power[0])
        yield from low_power(found, power[0], clock[0])
    if heat:
        yield from rising(found, heat[1])


def deadlocked(found: list[Sample], lowest_w: float) -> Iterator[Sickness]:
    """Return the units whose requests run without a step, while the GPU draws less than at work."""
    if any(each.compiling for each in found) or not below([each.power_w for each in found], lowest_w):
        return
    for name, work in found[-1].units.items():
        series = [each.units[name] for each in found if name in each.units]
        waits = len(series) == len(found) and all(each.running for each in series)
        if waits and len({each.iterations for each in series}) == 1:
            text = f"{work.running} requests run without a step for {span_s(found):.0f} s, at {drawn(found)}"
            yield Sickness(DEADLOCKED, name, f"{text}; at work this host draws {lowest_w:.0f} W or more")


def low_power(found: list[Sample], lowest_w: float, lowest_mhz: float) -> Iterator[Sickness]:
    """Return that the GPU works with clock and power below those that this host had at work."""
    works = all(progressed(*pair) for pair in pairwise(found))
    slow = below([each.clock_mhz for each in found], lowest_mhz)
    if works and slow and below([each.power_w for each in found], lowest_w):
        clocks = f"{min(each.clock_mhz or 0 for each in found):.0f} MHz"
        text = f"it works at {drawn(found)} and {clocks} for {span_s(found):.0f} s"
        yield Sickness(LOW_POWER, None, f"{text}; it usually has {lowest_w:.0f} W and {lowest_mhz:.0f} MHz or more")


def rising(found: list[Sample], highest_c: float) -> Iterator[Sickness]:
    """Return that the temperature is above its band and will reach the trip point."""
    heats = [each.heat_c for each in found if each.heat_c is not None]
    trip = found[-1].trip_c
    if trip is None or len(heats) < len(found) or min(heats[-2:]) <= highest_c:
        return
    middle = len(found) // 2  # a machine that gets warm at the start of a load levels off
    rate = (heats[-1] - heats[middle]) / span_s(found[middle:])
    if rate > 0 and (trip - heats[-1]) / rate < AHEAD_S:
        text = f"{heats[-1]:.0f} °C, usually {highest_c:.0f} °C at most; if this goes on, the machine turns itself off"
        yield Sickness(HEAT, None, f"{text} at {trip:.1f} °C, in {(trip - heats[-1]) / rate:.0f} s")


def stuck(found: list[Sample], bands: Bands) -> Sickness | None:
    """Return that the GPU stays below its bands during a compute load on a drained host."""
    power, clock = (band(bands, found[-1].cap, column) for column in range(2)) if found else (None, None)
    if power is None or clock is None:
        return None
    slow = below([each.power_w for each in found], power[0]) and below([each.clock_mhz for each in found], clock[0])
    return Sickness(STUCK, None, f"{drawn(found)} under a compute load on a drained host") if slow else None


def below(values: list[float | None], limit: float) -> bool:
    """Return whether all values are known and below a limit."""
    return all(each is not None and each < limit for each in values)


def drawn(found: list[Sample]) -> str:
    """Return the power of a series."""
    return f"{max(each.power_w or 0 for each in found):.0f} W at most"


def span_s(found: list[Sample]) -> float:
    """Return the time that a series spans."""
    return found[-1].at_s - found[0].at_s
