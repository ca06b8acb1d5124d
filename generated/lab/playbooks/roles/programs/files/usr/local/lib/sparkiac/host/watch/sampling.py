"""Read one sample of this host, and what its journal says of the machine."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from .. import local, series, settings
from ..generation import CLOCK_CAP
from ..kills import US, kills
from ..local import LocalHost
from ..switch import drain
from .sickness import DRIVER, JOURNAL, KILLED, WINDOW_S, Sample, Sickness, Work

NVIDIA_SMI = ("timeout", "10", "nvidia-smi", "--query-gpu=power.draw,clocks.sm", "--format=csv,noheader,nounits")
MISMATCH = "version mismatch"
"""nvidia-smi says so when the libraries are not those of the loaded module."""
ZONES = "/sys/class/thermal"
COMPILERS = frozenset({"nvcc", "cicc", "ptxas", "cudafe++", "cc1plus", "ninja"})
STEPS = (
    "vllm:iteration_tokens_total_count", "vllm:prompt_tokens_total", "vllm:generation_tokens_total",
    "sglang:prompt_tokens_total", "sglang:generation_tokens_total",
    "llamacpp:prompt_tokens_total", "llamacpp:tokens_predicted_total",
)  # fmt: skip
"""Counters that grow with the steps of an engine. During a long prefill of vLLM, the first one does."""
STOPPED = ("Journal stopped", "System Shutdown", "request to relinquish")
"""What the journal has near its end after a shutdown; the last one where /var is a file system of its own."""
DAY_S = 86_400


def sample(machine: LocalHost, units: list[dict[str, Any]], said: str) -> Sample:
    """Return how the host is now; `units` are those of its plan that run, and nvidia-smi has `said` this."""
    power, clock = gpu(said)
    heat, trip = hottest(machine)
    return Sample(
        at_s=time.time(),
        cap=settings.value_of(machine, CLOCK_CAP) or settings.NONE,
        power_w=power,
        clock_mhz=clock,
        heat_c=heat,
        trip_c=trip,
        compiling=any(path.read_text().strip() in COMPILERS for path in commands(machine)),
        units=dict(works(machine, units)),
    )


def nvidia_smi(machine: LocalHost) -> str:
    """Return what nvidia-smi says; nothing on a machine without a GPU."""
    try:
        done = machine.run(*NVIDIA_SMI)
    except OSError:
        return ""
    return done.output + done.errors


def gpu(output: str) -> tuple[float | None, float | None]:
    """Return power and clock; None for what nvidia-smi does not report."""
    cells = [*(output.splitlines() or [""])[0].split(","), ""]
    power, clock = (local.number(cell) for cell in cells[:2])
    return power, clock


def hottest(machine: LocalHost) -> tuple[float | None, float | None]:
    """Return temperature and trip point of the zone that is nearest to the point where the machine turns itself off."""
    found: list[tuple[float, float, float]] = []
    for kind in machine.path(ZONES).glob("thermal_zone*/trip_point_*_type"):
        if kind.read_text(encoding="ascii").strip() == "critical":
            trip = kind.with_name(kind.name.replace("_type", "_temp"))
            at, limit = (int(path.read_text(encoding="ascii")) / 1000 for path in (kind.with_name("temp"), trip))
            found.append((limit - at, at, limit))
    return min(found)[1:] if found else (None, None)


def commands(machine: LocalHost) -> Iterator[Any]:
    """Return the files with the names of the processes."""
    return machine.path("/proc").glob("[0-9]*/comm")


def works(machine: LocalHost, units: list[dict[str, Any]]) -> Iterator[tuple[str, Work]]:
    """Return unit → what its engine does, for units that are ready and have metrics."""
    measured = [unit for unit in units if unit["promise"] and unit["promise"]["metrics"]]
    states = local.states(machine, [unit["name"] for unit in measured])
    for unit in measured:
        text = drain.metrics(machine, unit["promise"]) if states[unit["name"]]["ActiveState"] == "active" else ""
        values = series.values(text)
        if any(name in values for name in STEPS):
            running, steps = (sum(sum(values.get(name, ())) for name in names) for names in (series.RUNNING, STEPS))
            yield unit["name"], Work(round(running), steps)


def told(machine: LocalHost, now_s: float, said: str) -> Iterator[Sickness]:
    """Return what nvidia-smi, the journal and those that end processes say."""
    if MISMATCH in said:
        yield Sickness(DRIVER, None, " ".join(said.split()))
    yield from (Sickness(KILLED, None, f"{each.text}, at {shown(each.at_s)}") for each in kills(machine, "-1day")[-1:])
    last = entries(machine, "--lines=1")
    if last and now_s - last[-1][0] >= WINDOW_S:
        yield Sickness(JOURNAL, None, f"the journal has not been written since {shown(last[-1][0])}")
    if float(machine.read("/proc/uptime").split()[0]) < DAY_S:
        before = entries(machine, "--boot=-1", "--lines=40")
        if before and not any(word in text for _, text in before for word in STOPPED):
            text = f"the journal of the boot before stops at {shown(before[-1][0])}, without a shutdown"
            yield Sickness(JOURNAL, None, text)


def entries(machine: LocalHost, *options: str) -> list[tuple[float, str]]:
    """Return time and text of lines of the journal, the oldest first."""
    done = machine.run("timeout", "10", "journalctl", "--no-pager", "--quiet", "--output=json", *options)
    found = [json.loads(line) for line in done.output.splitlines()] if done.code == 0 else []
    return [(int(each["__REALTIME_TIMESTAMP"]) / US, str(each.get("MESSAGE", ""))) for each in found]


def shown(at_s: float) -> str:
    """Return a time in UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at_s))
