"""Derive from the facts of a host the state and load of its units, what is unhealthy and what differs from the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from sparkiac import engines
from sparkiac.engines import Metric
from sparkiac.fleet.facts import Drift, HostFacts, Reading, Unit
from sparkiac.fleet.problems import (
    DRIFT,
    MOVED,
    UNHEALTHY,
    Problem,
    listed,
    machine_problems,
    package_problems,
    software_problems,
    trial_problems,
)
from sparkiac.fleet.query import Answer
from sparkiac.plan import HostPlan

_OTHER_FILES: Final = "it runs from other files than those installed"
_SHORT: Final = 8
_UNIT: Final = "sparkiac-"
_ALERT: Final = "sparkiac-alert: "
"""Marks a wrong answer in the health that `supervise` reports."""
_READY, _RUNNING, _STARTING, _RESTING = "ready", "running", "starting", "resting"
_FAILED, _GAVE_UP, _DRAINED = "failed", "gave up", "drained"
_STATES: Final = {
    "inactive": "stopped",
    "failed": _FAILED,
    "activating": _STARTING,
    "deactivating": "stopping",
    "reloading": _RUNNING,
    "active": _RUNNING,
}


class UnitStatus(NamedTuple):
    """A unit as planned and as found."""

    name: str
    """Name of its deployment or service."""
    state: str
    ready: bool
    load: Load
    facts: Unit | None
    """None if the host does not have it."""


class HostStatus(NamedTuple):
    """A host as planned and as found."""

    name: str
    address: str
    generated: str | None
    """Generation in the generated directory; None if it is unknown."""
    answer: Answer
    clock_s: float | None
    """Smallest possible difference between its clock and the one of this machine; negative if it is behind."""
    units: tuple[UnitStatus, ...]
    problems: tuple[Problem, ...]

    @property
    def facts(self) -> HostFacts | None:
        """Return what the host reported."""
        return self.answer.facts

    @property
    def reachable(self) -> bool:
        """Return whether there was a connection."""
        return self.answer.failure is None or self.answer.failure.reachable


def status(host: HostPlan, generated: str | None, answer: Answer) -> HostStatus:
    """Return the status of a host."""
    facts, failure = answer.facts, answer.failure
    if facts is None:
        assert failure is not None  # noqa: S101
        text = failure.reason if failure.reachable else f"unreachable: {failure.reason}"
        problem = Problem(UNHEALTHY, None, text, failure.hint)
        return HostStatus(host.name, host.address, generated, answer, None, (), (problem,))
    clock_s = _clock(answer, facts)
    units = _units(host, facts)
    problems = (
        *machine_problems(host, facts, clock_s),
        *software_problems(host, facts.machine.software, datetime.fromtimestamp(answer.end_s, UTC).date()),
        *trial_problems(facts.kernel),
        *package_problems(facts.packages, facts.machine.software),
        *_generation(facts, generated),
        *(problem for unit in units for problem in _unit(unit)),
    )
    return HostStatus(host.name, host.address, generated, answer, clock_s, units, problems)


def _clock(answer: Answer, facts: HostFacts) -> float:
    """Return how far the clocks differ at least: the host took its times between the request and the answer."""
    lowest, highest = facts.clock.end_s - answer.end_s, facts.clock.begin_s - answer.begin_s
    return lowest if lowest > 0 else highest if highest < 0 else 0.0


def _generation(facts: HostFacts, generated: str | None) -> Iterator[Problem]:
    found = facts.generation
    if found is None:
        return
    if found.pending:
        text = f"a switch to generation {found.pending.generation[:_SHORT]} has not ended ({found.pending.phase})"
        yield Problem(DRIFT, None, text, "wait, or see `journalctl --unit=sparkiac-switch` on the host")
    if found.committed is None:
        yield Problem(DRIFT, None, "no generation is installed", "run sparkiac apply")
    elif generated and found.committed != generated:
        yield Problem(DRIFT, None, "another generation runs than is generated", "run sparkiac apply")
    if facts.drift:
        yield from _drift(facts.drift, {unit.name for unit in facts.units or () if unit.resting})


def _drift(drift: Drift, resting: set[str]) -> Iterator[Problem]:
    hint = "sparkiac drift shows a diff; sparkiac apply installs the generated files again"
    files = [f"/{each.path} ({each.kind})" for each in drift.files]
    for what, names in (("file", files), ("setting", drift.sysctls)):
        if names:
            text = f"{len(names)} {what}{'' if len(names) == 1 else 's'} changed by hand: {listed(names)}"
            yield Problem(DRIFT, None, text, hint)
    for each in drift.packages:
        text = f"package {each.package} is {each.found}, pinned {each.wanted}: {each.because}"
        yield Problem(DRIFT, None, text, MOVED)
    for unit in drift.units:
        text = "it runs, but is not in the current turn" if unit in resting else _OTHER_FILES
        yield Problem(DRIFT, unit.removeprefix(_UNIT), text, "run sparkiac apply")


def _units(host: HostPlan, facts: HostFacts) -> tuple[UnitStatus, ...]:
    """Return the planned units, then those that only the host has."""
    sick = {each.unit: each.words for each in facts.sick}
    faults = (unit.model_copy(update={"fault": sick.get(unit.name, unit.fault)}) for unit in facts.units or ())
    found = {unit.name: unit for unit in faults}
    engines = {unit.unit: unit.server.engine for unit in host.units}
    names = [name for name in host.start_order if facts.units is not None]
    return tuple(_status(name, found.get(name), engines.get(name)) for name in dict.fromkeys([*names, *found]))


def _status(name: str, unit: Unit | None, engine: str | None) -> UnitStatus:
    short = name.removeprefix(_UNIT)
    if unit is None or unit.loaded == "not-found":
        return UnitStatus(short, "missing", ready=False, load=Load(), facts=None)
    state = _state(unit)
    ready = state in {_READY, _RUNNING, _RESTING}
    return UnitStatus(short, state, ready, load(engine, unit.readings), unit)


def _state(unit: Unit) -> str:
    """Return the state of a unit in a word. Without a health check, the state is systemd's."""
    if unit.sub is not None and unit.sub.startswith("auto-restart"):
        return "restarting"
    state = _STATES.get(unit.active or "", unit.active or "unknown")
    if unit.resting and unit.active in {"inactive", "failed"}:
        return _RESTING
    if state == _FAILED and unit.gave_up:
        return _GAVE_UP
    if state != _RUNNING:
        return state
    health = unit.health or ""
    if unit.fault or health.startswith("unhealthy") or _ALERT in health:
        return "unhealthy"
    return _DRAINED if unit.drained else _READY if unit.asked else _RUNNING


def _unit(unit: UnitStatus) -> Iterator[Problem]:
    if unit.ready:
        return
    facts = unit.facts
    if facts is None:
        yield Problem(UNHEALTHY, unit.name, "the host does not have this unit", "run sparkiac apply")
        return
    if unit.state == _DRAINED:
        yield Problem(UNHEALTHY, unit.name, "drained: it takes no new connections", "sparkiac undrain opens its port")
        return
    again = f"; to start it again: sudo systemctl start sparkiac-{unit.name}" if unit.state == _GAVE_UP else ""
    hint = f"journalctl --unit=sparkiac-{unit.name} on the host{again}"
    yield Problem(UNHEALTHY, unit.name, f"{unit.state}{_reason(unit, facts)}", hint)


def _reason(unit: UnitStatus, facts: Unit) -> str:
    """Return why a unit is not ready: a failed check of its API, or the cause of its last failure."""
    if facts.closed and unit.state == _STARTING:
        return f"{_health(facts)}; not ready: port closed"
    if unit.state == "unhealthy":
        return f": {facts.fault or _health_output(facts)}{'; port closed' if facts.closed else ''}"
    if unit.state == _GAVE_UP:
        return f": {facts.gave_up}"
    restart = facts.restart
    if unit.state in {_FAILED, "restarting"} and restart:
        return f": {restart.cause}{f' ({restart.detail})' if restart.detail else ''}"
    return _health(facts) if unit.state == _STARTING else ""


def _health(facts: Unit) -> str:
    return f": {_health_output(facts)}" if facts.health else ""


def _health_output(facts: Unit) -> str:
    """Return the output of the last health check, which follows the state of the container."""
    state, _, output = (facts.health or "").partition(" ")
    return output.replace(_ALERT, "") or state


class Load(NamedTuple):
    """Load of a server; a value that its engine does not expose is None."""

    kv_use: float | None = None
    """Used part of the KV cache, 0 to 1; with several engines behind one server, that of the fullest."""
    running: int | None = None
    waiting: int | None = None
    tokens_per_s: float | None = None


def load(engine: str | None, readings: tuple[Reading, ...] | None) -> Load:
    """Return the load of a server with this engine."""
    if not readings:
        return Load()
    table, last = engines.quantities(engine), readings[-1].values
    kv_use, running, waiting = (_values(table, last, name) for name in ("kv_use", "running", "waiting"))
    return Load(
        max(kv_use) if kv_use else None,
        round(sum(running)) if running else None,
        round(sum(waiting)) if waiting else None,
        _rate(table, readings),
    )


def _values(table: Mapping[str, Metric], values: Mapping[str, tuple[float, ...]], quantity: str) -> tuple[float, ...]:
    return values.get(table[quantity].name, ()) if quantity in table else ()


def _rate(table: Mapping[str, Metric], readings: tuple[Reading, ...]) -> float | None:
    """Return tokens per second: the engine's own figure, or the difference of a counter that grows with each token.

    A counter that grows only when a request ends would show 0 while requests run.
    """
    first, last = readings[0], readings[-1]
    if own := _values(table, last.values, "generation_rate"):
        return sum(own)
    counter = table.get("generated_tokens")
    seconds = last.at_s - first.at_s
    if counter is None or counter.at_end or seconds <= 0 or not last.values.get(counter.name):
        return None
    tokens = sum(last.values[counter.name]) - sum(first.values.get(counter.name, ()))
    return tokens / seconds if tokens >= 0 else None  # the server was restarted between the readings
