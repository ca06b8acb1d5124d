"""The state of the hosts, and what was verified on them, as pages and as plain data; docs/status.md has the keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sparkiac.fleet.fabric.checks import LinkCheck
from sparkiac.fleet.facts import Generations, Memory, Restart
from sparkiac.fleet.status import HostStatus, UnitStatus
from sparkiac.fleet.verify import Verified
from sparkiac.memory.values import GIB
from sparkiac.plan.numbers import gib
from sparkiac.words.apply import alike, deeds
from sparkiac.words.page import (
    BAD,
    MANY,
    Blocks,
    Data,
    Line,
    Row,
    Table,
    counted,
    duration,
    grid,
    heading,
    line,
    styled,
    table,
)

WIDE: Final = 110
"""From this width on, firmware and served names have their own columns."""
_SHORT: Final = 8
"""Characters of a generation in the table; JSON has all of them."""
_NONE: Final = "-"
_DAY_S: Final = 86_400
_PROBLEMS: Final = ("drift", "unhealthy")
_STYLES: Final = {"ready": "green", "running": "green", "starting": "yellow", "stopping": "yellow", "resting": "dim"}
_KINDS: Final = {"unhealthy": "red", "drift": "yellow", "warning": "yellow", "note": "dim"}
_FIELD: Final = "\t"
"""Between kind, text and hint; texts of hosts have no control characters."""
_VERIFIED: Final = {"ok": "green", "warning": "yellow", "failed": BAD, "skipped": "dim"}
_CHECKED: Final = {True: ("ok", "green"), False: ("FAIL", BAD), None: ("not checked", "dim")}


def page(statuses: Sequence[HostStatus], width: int) -> Blocks:
    """Return the hosts, their units, the problems, and a summary."""
    yield from tables(statuses, width)
    yield from problems(statuses)
    yield ""
    yield summary(statuses)


def tables(statuses: Sequence[HostStatus], width: int) -> Blocks:
    """Return the table of the hosts that answered and the table of their units."""
    answered = [host for host in statuses if host.facts]
    if len(answered) > MANY:
        yield from deeds({host.name: [*_brief(host)] for host in answered}, _names(answered))
        yield styled("sparkiac status INVENTORY HOST shows the load and the memory of a host", "dim")
        return
    if answered:
        yield _hosts(answered, wide=width >= WIDE)
    units = [(host, unit) for host in answered for unit in host.units]
    if units:
        yield ""
        yield _units(units, wide=width >= WIDE)


def problems(statuses: Sequence[HostStatus]) -> Blocks:
    """Return each problem with its host and what to do, former wrong answers, and what could not be read."""
    said = {host.name: [*_said(host)] for host in statuses}
    rows = [(each.title, *text.split(_FIELD)) for each in alike(said, _names(statuses)) for text in each.lines]
    if rows:
        yield ""
        rows.sort(key=lambda row: list(_KINDS).index(row[1]))
        yield grid(
            (title, line((text, _KINDS[kind]), (hint and f"\n{hint}", "dim"))) for title, kind, text, hint in rows
        )


def _said(host: HostStatus) -> Iterator[str]:
    """Return kind, text and hint of each problem of a host, of former wrong answers, and of what was not read."""
    for each in host.problems:
        unit = f"{each.unit}: " if each.unit else ""
        yield _FIELD.join((each.kind, f"{unit}{each.text}", each.hint))
    for text in (each for unit in host.units for each in _wrong(unit)):
        yield _FIELD.join(("note", text, ""))
    if host.facts and host.facts.unread:
        listed = "; ".join(f"{part} ({why})" for part, why in sorted(host.facts.unread.items()))
        yield _FIELD.join(("note", f"not read: {listed}", ""))


def _names(statuses: Iterable[HostStatus]) -> dict[str, list[str]]:
    """Return the names that alike hosts differ in: those of their units."""
    return {host.name: [unit.name for unit in host.units] for host in statuses}


def _brief(host: HostStatus) -> Iterator[str]:
    """Return driver and units of a host; its load and memory differ between alike hosts."""
    driver = host.facts.machine.driver if host.facts else None
    yield f"driver {driver or _NONE}"
    yield from (f"{unit.name}  {unit.state}" for unit in host.units)


def summary(statuses: Sequence[HostStatus]) -> Line:
    """Return one sentence about all hosts."""
    units = [unit for host in statuses for unit in host.units]
    lost = sum(not host.reachable for host in statuses)
    bad = sum(not unit.ready for unit in units)
    drift, sick = (sum(any(each.kind == kind for each in host.problems) for host in statuses) for kind in _PROBLEMS)
    parts = [
        (f"{lost} unreachable" if lost else "", BAD),
        (f"{counted(bad, 'unit')} not ready" if bad else "", BAD),
        (f"{counted(sick, 'host')} not healthy" if sick and not (lost or bad) else "", BAD),
        (f"{counted(drift, 'host')} not as generated" if drift else "", "yellow"),
    ]
    found = [each for each in parts if each[0]] or [("all healthy and as generated", "green")]
    joined = (word for each in found for word in (", ", each))
    return line(f"{counted(len(statuses), 'host')}, {counted(len(units), 'unit')}: ", *list(joined)[1:])


def _hosts(hosts: Sequence[HostStatus], *, wide: bool) -> Table:
    versions = ("driver", "firmware") if wide else ("driver, firmware",)
    heads = ("host", *versions, "available", "page cache", "clock", "generation")
    rows = (_host_row(host, wide=wide) for host in hosts)
    return table(heads, rows, right=("available", "page cache", "clock"), whole=("host", "available"))


def _host_row(host: HostStatus, *, wide: bool) -> Row:
    assert host.facts is not None  # noqa: S101
    machine, driver = host.facts.machine, host.facts.machine.driver or _NONE
    first = (driver, machine.firmware or _NONE) if wide else (_stacked(driver, machine.firmware),)
    return host.name, *first, *_memory(machine.memory), _clock(host.clock_s), _generation(host, " " if wide else "\n")


def _stacked(first: str, second: str | None) -> Line:
    return line(first, (f"\n{second}" if second else "", "dim"))


def _memory(memory: Memory | None) -> tuple[str, str]:
    if memory is None:
        return _NONE, _NONE
    available = f"{memory.available_bytes / GIB:.1f} of {memory.total_bytes / GIB:.1f} GiB"
    return available, gib(memory.page_cache_bytes)


def _clock(clock_s: float | None) -> str:
    return _NONE if clock_s is None else f"{round(clock_s):+d} s" if abs(clock_s) >= 1 else "0 s"


def _generation(host: HostStatus, separator: str) -> Line:
    """Return the running generation, and what differs from it on the host."""
    facts = host.facts
    found = facts.generation if facts else None
    if facts is None or found is None:
        return styled("unknown", "dim")
    states = list(_states(host, found))
    if facts.drift and facts.drift.files:
        states.append(f"{counted(len(facts.drift.files), 'file')} changed")
    return line(
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
    heads = ("host", "unit", "state", "KV", "run", "wait", "tokens/s", *last)
    rows = (_unit_row(host, unit, wide=wide) for host, unit in units)
    return table(heads, rows, right=("KV", "run", "wait", "tokens/s"), whole=("host", "unit", "state"))


def _unit_row(host: HostStatus, unit: UnitStatus, *, wide: bool) -> Row:
    facts = unit.facts
    restart = _restart(facts.restart if facts else None)
    served = "\n".join((facts and facts.served) or ())
    cells = (restart, served) if wide else (_stacked(restart, served or None),)
    return host.name, unit.name, styled(unit.state, _STYLES.get(unit.state, BAD)), *_load(unit), *cells


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


def _wrong(unit: UnitStatus) -> Iterator[str]:
    """Return the last wrong answer of a unit that answers well now."""
    found = unit.facts.wrong if unit.facts and unit.ready else None
    if found:
        yield f"{unit.name}: last wrong answer {_ago(found.ago_s)} ago: {found.fault}"


def data(statuses: Sequence[HostStatus]) -> Data:
    """Return {"healthy": …, "as_generated": …, "hosts": [{name, reachable, problems, units, …}]}."""
    kinds = {problem.kind for host in statuses for problem in host.problems}
    return {
        "healthy": "unhealthy" not in kinds,
        "as_generated": "drift" not in kinds,
        "hosts": [_host_data(host) for host in statuses],
    }


def _host_data(host: HostStatus) -> Data:
    found = {
        "name": host.name,
        "address": host.address,
        "reachable": host.reachable,
        "generated": host.generated,
        "clock_s": None if host.clock_s is None else round(host.clock_s, 1),
        "problems": [problem._asdict() for problem in host.problems],
        "units": [_unit_data(unit) for unit in host.units],
    }
    facts = host.facts
    if facts is None:
        return found | {"machine": None, "generation": None, "drift": None, "root": None, "unread": {}}
    return found | facts.model_dump(mode="json", include={"machine", "generation", "drift", "root", "unread"})


def _unit_data(unit: UnitStatus) -> Data:
    load = unit.load._asdict()
    rate = load["tokens_per_s"]
    found = {"name": unit.name, "state": unit.state, "ready": unit.ready}
    found["load"] = load | {"tokens_per_s": None if rate is None else round(rate, 1)}
    facts = unit.facts
    return found | ({} if facts is None else facts.model_dump(mode="json", exclude={"name", "readings"}))


def verified(found: Sequence[Verified]) -> Blocks:
    """Return a table of steps for each unit, and a line with the sum."""
    for each in found:
        yield heading(f"{each.name} on {each.host}")
        if each.failure is not None:
            yield styled(f"not checked: {each.failure.reason}; {each.failure.hint}", BAD)
            continue
        rows = ((step.name, _result(step.state), f"{step.seconds:.2f}", step.evidence) for step in each.steps)
        yield table(("step", "result", "seconds", "evidence"), rows, right=("seconds",), whole=("step", "result"))
    failed = sum(not each.passed for each in found)
    verdict = f"{failed} of {len(found)} failed" if failed else f"all {len(found)} passed"
    yield heading(verdict) if found else styled("nothing to check", "bold")


def _result(state: str) -> Line:
    return styled("FAIL" if state == "failed" else state, _VERIFIED.get(state, ""))


def verified_data(found: Verified) -> Data:
    """Return the result for one unit."""
    failure = None if found.failure is None else {"reason": found.failure.reason, "hint": found.failure.hint}
    steps = [step.model_dump() for step in found.steps]
    return {"name": found.name, "host": found.host, "passed": found.passed, "failure": failure, "steps": steps}


def links(steps: Sequence[LinkCheck]) -> Blocks:
    """Return one line for each check of the links, and a summary."""
    if not steps:
        yield styled("no host has links; sparkiac fabric discover INVENTORY finds them", "bold")
        return
    rows = ((step.host, step.name, styled(*_CHECKED[step.passed]), step.found, step.expected) for step in steps)
    yield table(("host or group", "check", "result", "found", "expected"), rows, whole=("result",))
    failed = sum(step.passed is False for step in steps)
    yield heading(f"{failed or 'none'} of {len(steps)} failed")
