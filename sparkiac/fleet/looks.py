"""The answers of the hosts: to look.yml, what an apply would change on each; to generations.yml, what they ran."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

from pydantic import AfterValidator

from sparkiac.fleet.fabric.checks import groups as groups_of
from sparkiac.host.switch.effects import Effect
from sparkiac.host.switch.history import COMMITTED
from sparkiac.model.answers import Number, ReportedFacts, Text
from sparkiac.report.characters import escaped
from sparkiac.upstream.programs import ProgramError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sparkiac.plan import Plan
    from sparkiac.upstream.playbook import Event

_ROLE: Final = "look"
_WITH_ITS_GROUP: Final = "its group restarts together"
_MOVES: Final = frozenset({"start", "restart"})
"""What an apply does to a unit, together with the units of its group on other hosts."""


_Shown = Annotated[str, AfterValidator(escaped)]


class UnitStep(ReportedFacts):
    """What happens to a unit, and why."""

    unit: _Shown
    action: _Shown
    because: _Shown


class Lease(ReportedFacts):
    """Another apply that has the lease of a host."""

    owner: _Shown
    age_s: Number
    renewed_s: Number
    step: _Shown
    """Phase of the other apply."""
    ended: bool
    """Whether its process is proven to have ended."""
    free: bool
    """Whether this apply takes the lease."""


class HostLook(NamedTuple):
    """Differences between a host and the generated files."""

    host: str
    now: str | None
    """The generation that runs; None if there is none."""
    new: str
    differs: bool
    files: tuple[str, ...] = ()
    sysctls: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    units: tuple[UnitStep, ...] = ()
    effects: tuple[Effect, ...] = ()
    """What an apply does besides: ports, kernel settings, files, data that stays."""
    commit: str | None = None
    """Commit of the repository that runs; None if it is unknown."""
    lease: Lease | None = None
    faults: tuple[str, ...] = ()
    """What is wrong with its servers; not checked if the host differs."""


class FleetLook(NamedTuple):
    """The result for all hosts that Ansible selected."""

    hosts: tuple[HostLook, ...]
    batches: tuple[tuple[str, ...], ...]
    """The hosts that change, in the order of the rollout."""
    retired: tuple[str, ...] = ()
    """Former hosts, which are cleaned at the end; they are not compared."""
    unreachable: tuple[tuple[str, str], ...] = ()
    """Pairs of a host that did not respond and the reason."""
    failed: tuple[tuple[str, str], ...] = ()
    """Pairs of a host that could not be compared and the reason."""
    summary: tuple[str, ...] = ()
    """Messages of the playbook about all hosts."""

    @property
    def changing(self) -> tuple[HostLook, ...]:
        """The hosts that change."""
        return tuple(look for look in self.hosts if look.differs)

    @property
    def work(self) -> bool:
        """Whether an apply can change anything."""
        return bool(self.changing or self.retired)

    @property
    def held(self) -> tuple[HostLook, ...]:
        """The hosts that another apply changes."""
        return tuple(look for look in self.hosts if look.lease is not None and not look.lease.free)

    @property
    def faulty(self) -> tuple[HostLook, ...]:
        """The hosts with a server that does not work."""
        return tuple(look for look in self.hosts if look.faults)


class RecordedSwitch(ReportedFacts):
    """A switch that a host remembers."""

    generation: Text
    commit: Text | None
    run: Text
    time: Number
    outcome: Text
    changes: tuple[Text, ...]


class SwitchState(ReportedFacts):
    """What `switch status` prints on a host."""

    current: Text | None
    kept: tuple[Text, ...]
    history: tuple[RecordedSwitch, ...] = ()
    """From the oldest to the newest; older programs do not say it."""


class FleetState(NamedTuple):
    """What all hosts ran after the applies of one commit."""

    name: str
    """Its commit, or the name of the apply if the tree was not clean."""
    commit: str | None
    time: float
    """The end of its first switch, in seconds since 1970."""
    outcomes: dict[str, str]
    """Host that was switched → how its last switch ended: `committed` or `back`."""
    changes: tuple[str, ...]
    """What its first switches did with units."""
    generations: dict[str, str]
    """Host → generation; that of the time for a host that was not switched. Empty if all hosts refused it."""
    lost: tuple[str, ...] = ()
    """Hosts that do not keep a generation of it."""
    runs: bool = False
    """Whether all hosts run it."""


def states(answers: Mapping[str, str]) -> list[FleetState]:
    """Return the states of the fleet from the answers (host → JSON), the newest first. Raises ProgramError."""
    hosts = {host: _reported(host, text) for host, text in sorted(answers.items())}
    told = heapq.merge(
        *([(each, host) for each in state.history] for host, state in hosts.items()), key=lambda pair: pair[0].time
    )
    ran: dict[str, str] = {}
    found: dict[str, FleetState] = {}
    for each, host in told:
        name = each.commit or each.run
        state = found.setdefault(name, FleetState(name, each.commit, each.time, {}, (), dict(ran)))
        if host not in state.outcomes:
            found[name] = state._replace(changes=tuple(dict.fromkeys((*state.changes, *each.changes))))
        state.outcomes[host] = each.outcome
        if each.outcome == COMMITTED:
            ran[host] = state.generations[host] = each.generation
    return [_compared(state, hosts) for state in reversed(found.values())]


def chosen(listed: Sequence[FleetState], name: str) -> FleetState:
    """Return the state with a name or its beginning, or the one before the one that runs. Raises ProgramError."""
    if name == "previous":
        running = next((place for place, state in enumerate(listed) if state.runs), -1)
        found = [state for state in listed[running + 1 :] if not state.lost][:1]
    else:
        found = [state for state in listed if state.name.startswith(name)]
    if len(found) != 1:
        raise ProgramError(f"{len(found) or 'no'} states are called {name}; without --to, rollback lists them")
    if lost := found[0].lost:
        raise ProgramError(f"the state {name} is not kept on {', '.join(lost)}: refused, or removed by prune")
    return found[0]


def _reported(host: str, text: str) -> SwitchState:
    try:
        return SwitchState.of_output(text)
    except ValueError as error:
        raise ProgramError(f"{host}: {error}") from None


def _compared(state: FleetState, hosts: Mapping[str, SwitchState]) -> FleetState:
    """Return a state with what the hosts keep and run of it."""
    wanted = state.generations if COMMITTED in state.outcomes.values() else {}
    lost = tuple(host for host, now in hosts.items() if wanted.get(host) not in now.kept)
    runs = all(now.current == wanted.get(host) for host, now in hosts.items())
    return state._replace(generations=wanted, lost=lost, runs=runs)


def of_fleet(plan: Plan, generations: Mapping[str, str], answers: Mapping[str, str]) -> FleetLook:
    """Return the result from the answers: host → JSON. The hosts of a group change together."""
    looks = {name: _look(name, generations.get(name, ""), text) for name, text in sorted(answers.items())}
    groups = {name: host.group.members for host in plan.hosts if (name := host.name) in looks and host.group}
    changing = {name for name, look in looks.items() if look.differs}
    changing |= {name for name, members in groups.items() if changing.intersection(members)}
    added: dict[str, list[str]] = {}
    for name, hosts in groups_of(plan).items():
        unit = f"sparkiac-{name}"
        for host in _without_step(looks, unit, {each.name for each in hosts}):
            added.setdefault(host, []).append(unit)
    batches = (tuple(name for name in batch if name in changing) for batch in plan.batches)
    return FleetLook(
        tuple(_with(look, added.get(name, ()), differs=name in changing) for name, look in looks.items()),
        tuple(batch for batch in batches if batch),
        tuple(host.name for host in plan.retired),
    )


def is_answer(event: Event) -> bool:
    """Return whether an event contains the answer of a host."""
    return event["event"] == "ok" and event["role"] == _ROLE and str(event.get("stdout", "")).startswith("{")


class _ReportedEffect(ReportedFacts):
    action: _Shown
    subject: _Shown
    because: _Shown


class _ReportedState(ReportedFacts):
    current: _Shown | None = None


class _ReportedLook(ReportedFacts):
    """What `switch look` prints on a host."""

    differs: bool
    files: tuple[_Shown, ...] = ()
    sysctls: tuple[_Shown, ...] = ()
    secrets: tuple[_Shown, ...] = ()
    missing: tuple[_Shown, ...] = ()
    faults: tuple[_Shown, ...] = ()
    units: tuple[UnitStep, ...]
    effects: tuple[_ReportedEffect, ...]
    commit: _Shown | None = None
    lease: Lease | None = None
    state: _ReportedState | None = None


def _look(host: str, new: str, text: str) -> HostLook:
    """Return the differences that a host has reported. Raises ProgramError."""
    try:
        found = _ReportedLook.of_json(text)
    except ValueError as error:
        raise ProgramError(f"{host}: {error}") from None
    same = {key: getattr(found, key) for key in HostLook._fields if key in _ReportedLook.model_fields}
    effects = tuple(Effect(each.action, each.subject, each.because) for each in found.effects)
    now = found.state.current if found.state else None
    return HostLook(host, now, new, **same | {"effects": effects})


def _with(look: HostLook, units: Iterable[str], *, differs: bool) -> HostLook:
    """Return the changes of a host with the restarts of these units of groups added."""
    added = (UnitStep(unit=unit, action="restart", because=_WITH_ITS_GROUP) for unit in units)
    return look._replace(differs=differs, units=(*look.units, *added))


def _without_step(looks: Mapping[str, HostLook], unit: str, hosts: set[str]) -> set[str]:
    """Return the hosts of a group that would not restart its unit, although another host does."""
    present = hosts & looks.keys()
    moved = {host for host in present for step in looks[host].units if step.unit == unit and step.action in _MOVES}
    return present - moved if moved else set()
