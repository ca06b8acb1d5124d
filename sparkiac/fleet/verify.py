"""Check the units of a plan with all steps of the prober, the hosts in parallel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from sparkiac.fleet.probing import ProbedUnit, ProbeStep, RequestOrigin, steps_of
from sparkiac.fleet.query import HostFailure, endpoint, query
from sparkiac.plan import Container, HostPlan, Plan
from sparkiac.plan.container import Program
from sparkiac.plan.contract import Promise
from sparkiac.upstream import parallel

THREADS: Final = 64
"""Hosts that are checked at the same time; the units of a host are checked one after the other."""
_ANYWHERE: Final = "0.0.0.0"  # noqa: S104  compared
_LOOPBACK: Final = "127.0.0.1"


class Verified(NamedTuple):
    """The result for one unit."""

    name: str
    """Name of the deployment or service."""
    host: str
    steps: tuple[ProbeStep, ...]
    failure: HostFailure | None
    """Why there are no steps."""

    @property
    def passed(self) -> bool:
        """Return whether no step failed."""
        return self.failure is None and all(step.state != "failed" for step in self.steps)


class _UnitCheck(NamedTuple):
    """One unit to check from an origin."""

    name: str
    unit: ProbedUnit | HostFailure
    host: str
    turns: tuple[str, ...]
    """Turns in which it runs; empty if it always runs."""


def names(plan: Plan) -> tuple[str, ...]:
    """Return the deployments and services that have checks, sorted."""
    return tuple(sorted({unit.name for host in plan.hosts for unit in host.units if unit.unit in host.promises}))


def clients(plan: Plan) -> tuple[str, ...]:
    """Return the deployments and services from whose containers requests can come, sorted."""
    return tuple(sorted({container.name for host in plan.hosts for container in host.containers}))


def probed_unit(plan: Plan, name: str) -> ProbedUnit | HostFailure:
    """Return the unit to which clients of a deployment send requests, with its URL for this machine."""
    found = (check for host in plan.hosts for check in _checks(host, RequestOrigin("controller"), None, only=name))
    return next((check.unit for check in found), HostFailure(f"{name} serves no requests", "", reachable=True))


def verify(plan: Plan, origin: str, *, only: str | None) -> Iterator[Verified]:
    """Check all units, or those named `only`, from `controller`, `host` or a client; yield results as hosts finish."""
    source, client = RequestOrigin(origin), None
    if origin not in {"controller", "host"}:
        host, client = next((host, each) for host in plan.hosts for each in host.containers if each.name == origin)
        source = RequestOrigin(origin, endpoint(host), f"{client.unit}-server-1")
    checks = [(host, [*_checks(host, source, client, only=only)]) for host in plan.hosts]

    def run(work: tuple[HostPlan, list[_UnitCheck]]) -> list[Verified]:
        host, listed = work
        turn = _turn(host) if any(check.turns for check in listed) else None
        resting = [check for check in listed if turn and check.turns and turn not in check.turns]
        found = [_verified(check, source) for check in listed if check not in resting]
        return found + [_resting(check, turn) for check in resting if only is not None]

    for _, found in parallel.each((each for each in checks if each[1]), run, threads=THREADS):
        assert isinstance(found, list)  # noqa: S101  run raises no UpstreamError
        yield from found


def _turn(host: HostPlan) -> str | None:
    """Return the current turn of a host; None if it cannot be read, so that all units are checked."""
    facts = query(endpoint(host)).facts
    return facts.generation.turn if facts and facts.generation else None


def _resting(check: _UnitCheck, turn: str | None) -> Verified:
    """Return why a unit that the user named was not checked."""
    hint = f"run sparkiac turn INVENTORY {check.turns[0]}"
    reason = f"it does not run in the turn {turn}, which is the current one on {check.host}"
    return Verified(check.name, check.host, (), HostFailure(reason, hint, reachable=True))


def _verified(check: _UnitCheck, source: RequestOrigin) -> Verified:
    found = check.unit if isinstance(check.unit, HostFailure) else steps_of(check.unit, source)
    if isinstance(found, HostFailure):
        return Verified(check.name, check.host, (), found)
    return Verified(check.name, check.host, found, None)


def _checks(
    host: HostPlan, source: RequestOrigin, client: Container | None, *, only: str | None
) -> Iterator[_UnitCheck]:
    """Return the checks of a host. Workers of a group serve no HTTP, and are checked on their hosts only.

    `client` is the container that requests come from.
    """
    for unit in host.units:
        promise = host.promises.get(unit.unit)
        if promise is None or only not in {None, unit.name} or (promise.url is None and source.name != "host"):
            continue
        url = promise.url if source.name == "host" else _url(unit, host, client)
        target: ProbedUnit | HostFailure = ProbedUnit(endpoint(host), _for_client(promise, url, source))
        if url is None and promise.url is not None:
            target = HostFailure(
                "it listens on loopback", "set bind to lan or fabric, or use --from host", reachable=True
            )
        yield _UnitCheck(unit.name, target, host.name, host.turns_of(unit))


def _for_client(promise: Promise, url: str | None, source: RequestOrigin) -> Promise:
    """Return the checks for a client at `source`: only a host can check the connections of a group."""
    return promise if source.name == "host" else promise._replace(url=url, store=None, workers=0)


def _url(unit: Container | Program, host: HostPlan, client: Container | None) -> str | None:
    """Return the URL of a unit for a client, or for this machine; None if there is none."""
    links = client.dependencies if client else ()
    own = next((link.url for link in links if link.target == unit.path and link.url is not None), None)
    if own is not None:
        return own.removesuffix("/").removesuffix("/v1")
    if unit.network.listen is None or unit.network.listen[0] == _LOOPBACK:
        return None
    address, port = unit.network.listen
    return f"http://{host.address if address == _ANYWHERE else address}:{port}"
