"""Derive from the facts of a host the state of its units, what is unhealthy, and what differs from the plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from typing import Final, Literal, NamedTuple

from sparkiac.fleet.facts import AvailableUpdate, Drift, HostFacts, Load, Software, Unit, load
from sparkiac.fleet.query import Answer
from sparkiac.host.conditions import applying
from sparkiac.host.kernel.trial import OPEN
from sparkiac.host.software import HostValues
from sparkiac.model.lock import HostSet
from sparkiac.plan import HostPlan

UNHEALTHY: Final = "unhealthy"
DRIFT: Final = "drift"
CLOCK_LIMIT_S: Final = 5
"""Larger differences between the clocks are reported: logs of two machines can then no longer be compared."""
_LISTED: Final = 3
_OTHER_FILES: Final = "it runs from other files than those installed"
_COMPARED: Final = {*HostSet.model_fields} - {"packages", "since", "review_by"}
"""What the status compares with the pins; the host itself compares packages, because it knows what moved them."""
_ADVICE: Final = "info"
_ERROR: Final = "error"
_NEXT_BOOT: Final = "sparkiac docs hosts says what to do before a reboot"
_PRICE: Final = "apt changelog NAME shows what is in them"
_REVIEW: Final = "decide, then renew the pins: sparkiac lock INVENTORY --hosts --upgrade HOST"
_MOVED: Final = "install the pinned version again, or pin what runs: sparkiac lock INVENTORY --hosts --upgrade HOST"
_TRIAL: Final = "wait, or run sparkiac os again; `journalctl --unit=sparkiac-kernel` on the host has more"
_SHORT: Final = 8
_UNIT: Final = "sparkiac-"
_ALERT: Final = "sparkiac-alert: "
"""Marks a wrong answer in the health that `supervise` reports."""
_READY, _RUNNING, _STARTING, _RESTING = "ready", "running", "starting", "resting"
_FAILED, _GAVE_UP = "failed", "gave up"
_STATES: Final = {
    "inactive": "stopped",
    "failed": _FAILED,
    "activating": _STARTING,
    "deactivating": "stopping",
    "reloading": _RUNNING,
    "active": _RUNNING,
}


class Problem(NamedTuple):
    """Something that is not healthy, that differs from the plan, or that an operator should know."""

    kind: Literal["unhealthy", "drift", "warning"]
    unit: str | None
    """Deployment or service that it is about; None if it is about the host."""
    text: str
    hint: str = ""


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
        *_machine(host, facts, clock_s),
        *_software(host, facts.machine.software, datetime.fromtimestamp(answer.end_s, UTC).date()),
        *_generation(facts, generated),
        *(problem for unit in units for problem in _unit(unit)),
    )
    return HostStatus(host.name, host.address, generated, answer, clock_s, units, problems)


def _clock(answer: Answer, facts: HostFacts) -> float:
    """Return how far the clocks differ at least: the host took its times between the request and the answer."""
    lowest, highest = facts.clock.end_s - answer.end_s, facts.clock.begin_s - answer.begin_s
    return lowest if lowest > 0 else highest if highest < 0 else 0.0


def _machine(host: HostPlan, facts: HostFacts, clock_s: float) -> Iterator[Problem]:
    machine = facts.machine
    if machine.driver_fault:
        yield Problem(UNHEALTHY, None, f"nvidia-smi fails: {machine.driver_fault}", "reboot after a driver upgrade")
    if host.gpu and machine.driver is None:
        yield Problem(UNHEALTHY, None, "no NVIDIA driver is loaded", "check `nvidia-smi` and `dmesg` on the host")
    if host.values.driver and machine.driver and not f"{machine.driver}.".startswith(f"{host.values.driver}."):
        text = f"driver {machine.driver} is loaded, the inventory has {host.values.driver}"
        yield Problem(DRIFT, None, text, "install the other driver with sparkiac driver, or change the inventory")
    if machine.unpinnable and (known := host.preflight.unpinnable):
        hint = f"{known.code}: {known.hint}"
        yield Problem(UNHEALTHY if known.rdma_units else "warning", None, machine.unpinnable, hint)
    for link in host.preflight.links:
        if (state := machine.links.get(link.interface, "up")) != "up":
            text = f"the link {link.interface} of its groups is {state}"
            yield Problem(UNHEALTHY, None, text, "check the cable, and that the other host is on")
    if facts.doors:
        hint = "journalctl --unit=sparkiac-doors on the host; it is written again within 15 s"
        yield Problem(UNHEALTHY, None, facts.doors, hint)
    if abs(clock_s) > CLOCK_LIMIT_S:
        direction = "ahead of" if clock_s > 0 else "behind"
        text = f"its clock is {abs(clock_s):.0f} s {direction} the clock of this machine"
        yield Problem(UNHEALTHY, None, text, "check `timedatectl` on both machines")


def _software(host: HostPlan, found: Software | None, today: date) -> Iterator[Problem]:
    if found is None:
        return
    yield from _known(host, found, "")
    if found.next_kernel:
        yield from _known(host, found.model_copy(update={"kernel": found.next_kernel}), "after the next boot: ")
        yield Problem("warning", None, f"the next boot starts {next_boot(found)}", _NEXT_BOOT)
    if host.pins is not None:
        now = host.pins.model_copy(update=found.model_dump(include=_COMPARED))
        for what, pinned, runs in host.pins.differing(now):
            yield Problem(DRIFT, None, f"{what} is {runs}, pinned {pinned}", _MOVED)
        yield from price(host.pins, found.updates, today)


def _known(host: HostPlan, found: Software, when: str) -> Iterator[Problem]:
    """Yield the facts about this software that are more than advice."""
    known = host.preflight.host_facts
    if known is None:
        return
    for fact, text in applying(known.facts, HostValues(found.model_dump(), rdma=known.rdma)):
        if fact.severity != _ADVICE:
            kind: Literal["unhealthy", "warning"] = UNHEALTHY if fact.severity == _ERROR and not when else "warning"
            yield Problem(kind, None, f"{when}{text}", f"{fact.code}: {fact.hint}")


def next_boot(found: Software) -> str:
    """Return the kernel of the next boot, the running one, and what installed it."""
    change = found.change(f"linux-image-{found.next_kernel}")
    by = f", installed on {change.at} by {change.command}" if change else ""
    return f"kernel {found.next_kernel} instead of {found.kernel}{by}"


def price(pins: HostSet, updates: Iterable[AvailableUpdate], today: date) -> Iterator[Problem]:
    """Yield what the pins of a host withhold, and that their review is overdue."""
    held = sorted(
        (each for each in updates if each.package in pins.packages), key=lambda each: (not each.security, each.package)
    )
    days = (today - date.fromisoformat(pins.since)).days
    if held:
        named = _listed([f"{each.package} {each.version}{' (security)' * each.security}" for each in held])
        urgent = sum(each.security for each in held)
        many = f"{len(held)} update{'' if len(held) == 1 else 's'}, {urgent} of them for security"
        text = f"pinned for {days} days, its pins withhold {many}: {named}"
        yield Problem("warning", None, text, _PRICE)
    if today > date.fromisoformat(pins.review_by):
        yield Problem("warning", None, f"the review of its pins was due on {pins.review_by}", _REVIEW)


def _generation(facts: HostFacts, generated: str | None) -> Iterator[Problem]:
    if facts.kernel and (told := facts.kernel.told()):
        yield Problem(DRIFT if facts.kernel.phase in OPEN else "warning", None, told, _TRIAL)
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
    hint = "playbooks/drift.yml shows a diff; sparkiac apply installs the generated files again"
    files = [f"/{each.path} ({each.kind})" for each in drift.files]
    for what, names in (("file", files), ("kernel setting", drift.sysctls)):
        if names:
            text = f"{len(names)} {what}{'' if len(names) == 1 else 's'} changed by hand: {_listed(names)}"
            yield Problem(DRIFT, None, text, hint)
    for each in drift.packages:
        text = f"package {each.package} is {each.found}, pinned {each.wanted}: {each.because}"
        yield Problem(DRIFT, None, text, _MOVED)
    for unit in drift.units:
        text = "it runs, but is not in the current turn" if unit in resting else _OTHER_FILES
        yield Problem(DRIFT, unit.removeprefix(_UNIT), text, "run sparkiac apply")


def _listed(names: list[str] | tuple[str, ...]) -> str:
    left = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {left} more" if left > 0 else "")


def _units(host: HostPlan, facts: HostFacts) -> tuple[UnitStatus, ...]:
    """Return the planned units, then those that only the host has."""
    found = {unit.name: unit for unit in facts.units or ()}
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
    return _READY if unit.asked else _RUNNING


def _unit(unit: UnitStatus) -> Iterator[Problem]:
    if unit.ready:
        return
    facts = unit.facts
    if facts is None:
        yield Problem(UNHEALTHY, unit.name, "the host does not have this unit", "run sparkiac apply")
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
