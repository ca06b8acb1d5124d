"""The state of the hosts as tables and a list of problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from sparkiac.commands.apply.page import duration
from sparkiac.fleet.facts import Generations, Memory, Restart
from sparkiac.fleet.status import HostStatus, Problem, UnitStatus
from sparkiac.formats import terminal
from sparkiac.formats.terminal import counted
from sparkiac.memory.values import GIB
from sparkiac.plan.numbers import gib

WIDE: Final = 110
"""From this width on, firmware and served names have their own columns."""
_SHORT: Final = 8
"""Characters of a generation in the table; JSON has all of them."""
_NONE: Final = "-"
_DAY_S: Final = 86_400
_STYLES: Final = {"ready": "green", "running": "green", "starting": "yellow", "stopping": "yellow", "resting": "dim"}
_BAD: Final = "bold red"
_KINDS: Final = {"unhealthy": "red", "drift": "yellow", "warning": "yellow"}


def page(statuses: Sequence[HostStatus], *, width: int) -> Iterator[RenderableType]:
    """Return the hosts, their units, the problems, and a summary."""
    yield from tables(statuses, width=width)
    yield from problems(statuses)
    yield Text()
    yield summary(statuses)


def tables(statuses: Sequence[HostStatus], *, width: int) -> Iterator[RenderableType]:
    """Return the table of the hosts that answered and the table of their units."""
    answered = [host for host in statuses if host.facts]
    if answered:
        yield _hosts(answered, wide=width >= WIDE)
    units = [(host, unit) for host in answered for unit in host.units]
    if units:
        yield Text()
        yield _units(units, wide=width >= WIDE)


def problems(statuses: Sequence[HostStatus]) -> Iterator[RenderableType]:
    """Return each problem with its host and what to do, former wrong answers, and what could not be read."""
    every = [(host, problem) for host in statuses for problem in host.problems]
    rows = sorted(every, key=lambda row: list(_KINDS).index(row[1].kind))
    if rows:
        yield Text()
        yield terminal.grid([(Text(host.name), _problem(problem)) for host, problem in rows])
    if notes := [(host.name, *each) for host in statuses for unit in host.units for each in _wrong(unit)]:
        yield Text()
        yield terminal.grid(notes)
    unread = [(host.name, each.unread) for host in statuses if (each := host.facts) and each.unread]
    if unread:
        yield Text()
    for name, parts in unread:
        listed = "; ".join(f"{part} ({why})" for part, why in sorted(parts.items()))
        yield Text(f"not read on {name}: {listed}", style="dim")


def summary(statuses: Sequence[HostStatus]) -> Text:
    """Return one sentence about all hosts."""
    units = [unit for host in statuses for unit in host.units]
    lost = sum(not host.reachable for host in statuses)
    bad = sum(not unit.ready for unit in units)
    drift = sum(any(problem.kind == "drift" for problem in host.problems) for host in statuses)
    sick = sum(any(problem.kind == "unhealthy" for problem in host.problems) for host in statuses)
    parts = [
        (f"{lost} unreachable" if lost else "", _BAD),
        (f"{counted(bad, 'unit')} not ready" if bad else "", _BAD),
        (f"{counted(sick, 'host')} not healthy" if sick and not (lost or bad) else "", _BAD),
        (f"{counted(drift, 'host')} not as generated" if drift else "", "yellow"),
    ]
    found = [Text(text, style) for text, style in parts if text] or [Text("all healthy and as generated", "green")]
    return Text.assemble(f"{counted(len(statuses), 'host')}, {counted(len(units), 'unit')}: ", Text(", ").join(found))


def _hosts(hosts: Sequence[HostStatus], *, wide: bool) -> Table:
    firmware = ("firmware",) if wide else ()
    names = ("host", "driver", *firmware, "available", "page cache", "clock", "generation")
    table = terminal.table(*names, right=("available", "page cache", "clock"), whole=("host", "available"))
    for host in hosts:
        facts = host.facts
        assert facts is not None  # noqa: S101
        machine, driver = facts.machine, facts.machine.driver or _NONE
        first = (driver, machine.firmware or _NONE) if wide else (_stacked(driver, machine.firmware),)
        rest = _clock(host.clock_s), _generation(host, " " if wide else "\n")
        table.add_row(host.name, *first, *_memory(machine.memory), *rest)
    return table


def _stacked(first: str, second: str | None) -> Text:
    return Text.assemble(first, (f"\n{second}" if second else "", "dim"))


def _memory(memory: Memory | None) -> tuple[str, str]:
    if memory is None:
        return _NONE, _NONE
    available = f"{memory.available_bytes / GIB:.1f} of {memory.total_bytes / GIB:.1f} GiB"
    return available, gib(memory.page_cache_bytes)


def _clock(clock_s: float | None) -> str:
    return _NONE if clock_s is None else f"{round(clock_s):+d} s" if abs(clock_s) >= 1 else "0 s"


def _generation(host: HostStatus, separator: str) -> Text:
    """Return the running generation, and what differs from it on the host."""
    facts = host.facts
    found = facts.generation if facts else None
    if facts is None or found is None:
        return Text("unknown", style="dim")
    states = list(_states(host, found))
    if facts.drift and facts.drift.files:
        states.append(f"{counted(len(facts.drift.files), 'file')} changed")
    return Text.assemble(
        (found.current or "none")[:_SHORT],
        f", {found.turn}" if found.turn else "",
        (f"{separator}{', '.join(states)}" if states else "", "yellow"),
    )


def _states(host: HostStatus, found: Generations) -> Iterator[str]:
    if found.pending:
        yield "pending"
    elif found.current != found.committed:
        yield "not committed"
    if host.generated and found.committed != host.generated:
        yield f"not {host.generated[:_SHORT]}"


def _units(units: Sequence[tuple[HostStatus, UnitStatus]], *, wide: bool) -> Table:
    last = ("last restart", "serves") if wide else ("last restart, serves",)
    names = ("host", "unit", "state", "KV", "run", "wait", "tokens/s", *last)
    table = terminal.table(*names, right=("KV", "run", "wait", "tokens/s"), whole=("host", "unit", "state"))
    for host, unit in units:
        facts = unit.facts
        restart = _restart(facts.restart if facts else None)
        served = "\n".join((facts and facts.served) or ())
        cells = (restart, served) if wide else (_stacked(restart, served or None),)
        state = Text(unit.state, style=_STYLES.get(unit.state, _BAD))
        table.add_row(host.name, unit.name, state, *_load(unit), *cells)
    return table


def _load(unit: UnitStatus) -> tuple[str, str, str, str]:
    kv_use, running, waiting, rate = unit.load
    return (
        _NONE if kv_use is None else f"{kv_use:.0%}",
        _NONE if running is None else str(running),
        _NONE if waiting is None else str(waiting),
        _NONE if rate is None else f"{rate:.1f}",
    )


def _restart(restart: Restart | None) -> str:
    return _NONE if restart is None else f"{_ago(restart.ago_s)} ago, {restart.cause}"


def _ago(seconds: int) -> str:
    return f"{seconds // _DAY_S} d" if seconds >= _DAY_S else duration(seconds)


def _wrong(unit: UnitStatus) -> Iterator[tuple[Text]]:
    """Return the last wrong answer of a unit that answers well now."""
    found = unit.facts.wrong if unit.facts and unit.ready else None
    if found:
        yield (Text(f"{unit.name}: last wrong answer {_ago(found.ago_s)} ago: {found.fault}", style="dim"),)


def _problem(problem: Problem) -> Text:
    unit = f"{problem.unit}: " if problem.unit else ""
    hint = f"\n{problem.hint}" if problem.hint else ""
    return Text.assemble((f"{unit}{problem.text}", _KINDS[problem.kind]), (hint, "dim"))
