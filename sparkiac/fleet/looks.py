"""The answers of the hosts: to look.yml, what an apply would change on each; to generations.yml, what they keep."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import Field

from sparkiac.fleet.fabric.checks import groups as groups_of
from sparkiac.host.switch.effects import Effect
from sparkiac.report.characters import escaped
from sparkiac.upstream.programs import Number, ProgramError, ReportedFacts, Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sparkiac.plan import Plan
    from sparkiac.upstream.playbook import Event

_ROLE: Final = "look"
_WITH_ITS_GROUP: Final = "its group restarts together"
_MOVES: Final = frozenset({"start", "restart"})
"""What an apply does to a unit, together with the units of its group on other hosts."""


class UnitStep(NamedTuple):
    """What happens to a unit, and why."""

    unit: str
    action: str
    because: str


class Lease(NamedTuple):
    """Another apply that has the lease of a host."""

    owner: str
    age_s: int
    renewed_s: int
    step: str
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


class SwitchState(ReportedFacts):
    """What `switch status` prints on a host."""

    current: Text | None
    previous: Text | None
    committed: Text | None
    kept: tuple[Text, ...]
    staged_s: dict[Text, Number] = Field(default_factory=dict)
    """Generation → when it came to the host, in seconds since 1970; older programs do not say it."""


class KeptGeneration(NamedTuple):
    """A generation that a host keeps and can switch to."""

    host: str
    name: str
    state: str
    """`runs`, `runs, not committed`, `committed`, `previous`, or empty."""
    staged_s: int | None


def kept(states: Mapping[str, str]) -> tuple[KeptGeneration, ...]:
    """Return the generations of all hosts (host → JSON), those of a host from the newest on. Raises ProgramError."""
    return tuple(each for host in sorted(states) for each in _kept(host, states[host]))


def _kept(host: str, text: str) -> list[KeptGeneration]:
    try:
        state = SwitchState.of_output(text)
    except ValueError as error:
        raise ProgramError(f"{host}: {error}") from None
    found = [KeptGeneration(host, name, _role(state, name), state.staged_s.get(name)) for name in state.kept]
    return sorted(found, key=lambda each: each.staged_s or 0, reverse=True)


def _role(state: SwitchState, name: str) -> str:
    if name == state.current:
        return "runs" if name == state.committed else "runs, not committed"
    return {state.committed: "committed", state.previous: "previous"}.get(name, "")


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


def _look(host: str, new: str, text: str) -> HostLook:
    found: dict[str, Any] = json.loads(text)
    lease = found.get("lease")
    parts = {key: _texts(found.get(key, ())) for key in ("files", "sysctls", "secrets", "missing", "faults")}
    units = tuple(UnitStep(*_texts((each["unit"], each["action"], each["because"]))) for each in found["units"])
    besides = tuple(Effect(*_texts((each["action"], each["subject"], each["because"]))) for each in found["effects"])
    now = (found.get("state") or {}).get("current")
    differs = bool(found["differs"])
    held = Lease(**{key: _plain(lease[key]) for key in Lease._fields}) if lease else None
    return HostLook(
        host, now, new, differs, **parts, units=units, effects=besides, commit=found.get("commit"), lease=held
    )


def _plain(value: str | int) -> Any:  # noqa: ANN401  JSON
    return escaped(value) if isinstance(value, str) else value


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(escaped(str(value)) for value in values)


def _with(look: HostLook, units: Iterable[str], *, differs: bool) -> HostLook:
    """Return the changes of a host with the restarts of these units of groups added."""
    added = (UnitStep(unit, "restart", _WITH_ITS_GROUP) for unit in units)
    return look._replace(differs=differs, units=(*look.units, *added))


def _without_step(looks: Mapping[str, HostLook], unit: str, hosts: set[str]) -> set[str]:
    """Return the hosts of a group that would not restart its unit, although another host does."""
    present = hosts & looks.keys()
    moved = {host for host in present for step in looks[host].units if step.unit == unit and step.action in _MOVES}
    return present - moved if moved else set()
