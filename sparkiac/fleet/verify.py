"""Check the units of a plan with all steps of the prober, the hosts in parallel.

The prober runs on the unit's host, on this machine, or in the container of a client. On the host, the installed program
runs. Elsewhere its parts are sent to a Python as input. The promise and the API key are input as well, never arguments.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

from sparkiac.fleet.query import THREADS, HostFailure, SshEndpoint, endpoint, query, run
from sparkiac.host.generation import Promise
from sparkiac.model.answers import ReportedFacts, Text
from sparkiac.plan import Container, HostPlan, Plan
from sparkiac.plan.container import Program
from sparkiac.plan.topology import EVERY, LOOPBACK
from sparkiac.upstream import parallel, programs

_ROOT: Final = 'if [ "$(id -u)" = 0 ]; then exec "$@"; else exec sudo -n "$@"; fi'
_CHECK: Final = ("check", "--all", "--format", "json")
_PYTHON: Final = "python3"
_NO_PYTHON: Final = frozenset({126, 127})
"""Exit codes of `docker exec` if the container does not have the command."""
_MARGIN_S: Final = 900
"""Time for the connection and for all answers after the first one, each with a limit of 60 s."""


class ProbeStep(ReportedFacts):
    """The result of one step."""

    name: Text
    state: Text
    """`ok`, `warning`, `failed` or `skipped`."""
    evidence: Text
    seconds: float


class _ProbeResult(ReportedFacts):
    steps: tuple[ProbeStep, ...]


class RequestOrigin(NamedTuple):
    """Where requests come from."""

    name: str
    """`controller`, `host`, or the name of a deployment or service."""
    endpoint: SshEndpoint | None = None
    """Host of the client's container."""
    container: str | None = None
    """Container of the client."""


class ProbedUnit(NamedTuple):
    """One unit to check from an origin."""

    name: str
    endpoint: SshEndpoint
    """Its host."""
    promise: Promise
    """What it promises, with the URL at which the origin reaches it."""
    loopback: bool
    """Whether it listens where the origin cannot reach it."""
    turns: tuple[str, ...]
    """Turns in which it runs; empty if it always runs."""


def steps_of(unit: ProbedUnit, origin: RequestOrigin) -> tuple[ProbeStep, ...]:
    """Run all steps for a unit. Raises HostFailure."""
    if origin.name == "host":
        words = ("sh", "-c", _ROOT, "sh", _PYTHON, "/usr/local/lib/sparkiac/probe.py", *_CHECK)
        return _probe(unit, unit.endpoint, words, _given(unit, None))
    sent = programs.bundled("probe.program", *_CHECK, text=_given(unit, api_key(unit)))
    if origin.container is None:
        return _probe(unit, None, (sys.executable, *sent.words), sent.text)
    inside = ("docker", "exec", "--interactive", origin.container, _PYTHON, *sent.words)
    return _probe(unit, origin.endpoint, ("sh", "-c", _ROOT, "sh", *inside), sent.text)


def _given(unit: ProbedUnit, key: str | None) -> str:
    return json.dumps({"promise": unit.promise._asdict(), "key": key})


def api_key(unit: ProbedUnit) -> str | None:
    """Read the API key of a unit from its host; None if it has none. Raises HostFailure."""
    if unit.promise.api_key is None:
        return None
    path = f"/etc/sparkiac/secrets/{unit.promise.api_key}"
    done = run(unit.endpoint, ("sh", "-c", _ROOT, "sh", "cat", path), "", timeout_s=60)
    if done.returncode:
        reason = f"{path} cannot be read: {_last(done)}"
        raise HostFailure(reason, "allow sudo without a password there, or use --from host as root")
    return done.stdout.strip()


def _probe(unit: ProbedUnit, endpoint: SshEndpoint | None, words: tuple[str, ...], given: str) -> tuple[ProbeStep, ...]:
    done = run(endpoint, words, given, timeout_s=unit.promise.answer_s + _MARGIN_S)
    try:
        return _ProbeResult.of_output(done.stdout).steps
    except ValueError as error:
        raise _no_result(done, str(error), in_container="docker" in words) from None


def _no_result(done: programs.Completed, fault: str, *, in_container: bool) -> HostFailure:
    if in_container and done.returncode in _NO_PYTHON:
        return HostFailure(f"the container of the client has no python3: {_last(done)}", "use --from host")
    reason = f"the prober did not run: {_last(done)}" if done.returncode else f"the prober: {fault}"
    return HostFailure(reason, "apply the generated files, or check what a login on the host prints")


def _last(done: programs.Completed) -> str:
    return programs.last_line(done.stderr, f"exit code {done.returncode}")


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


def names(plan: Plan) -> tuple[str, ...]:
    """Return the deployments and services that have checks, sorted."""
    return tuple(sorted({unit.name for host in plan.hosts for unit in host.units if unit.unit in host.promises}))


def clients(plan: Plan) -> tuple[str, ...]:
    """Return the deployments and services from whose containers requests can come, sorted."""
    return tuple(sorted({container.name for host in plan.hosts for container in host.containers}))


def probed_unit(plan: Plan, name: str) -> ProbedUnit:
    """Return the unit to which clients of a deployment send requests, with its URL here. Raises HostFailure."""
    for host in plan.hosts:
        for unit in _checks(host, RequestOrigin("controller"), None, only=name):
            return _reached(unit)
    raise HostFailure(f"{name} serves no requests")


def verify(plan: Plan, origin: str, *, only: str | None) -> Iterator[Verified]:
    """Check all units, or those named `only`, from `controller`, `host` or a client; yield results as hosts finish."""
    source, client = RequestOrigin(origin), None
    if origin not in {"controller", "host"}:
        host, client = next((host, each) for host in plan.hosts for each in host.containers if each.name == origin)
        source = RequestOrigin(origin, endpoint(host), f"{client.unit}-server-1")
    checks = [(host, [*_checks(host, source, client, only=only)]) for host in plan.hosts]

    def run(work: tuple[HostPlan, list[ProbedUnit]]) -> list[Verified]:
        host, listed = work
        turn = _turn(host) if any(check.turns for check in listed) else None
        resting = [check for check in listed if turn and check.turns and turn not in check.turns]
        found = [_verified(check, source) for check in listed if check not in resting]
        return found + [_resting(check, turn) for check in resting if only is not None]

    for _, found in parallel.each((each for each in checks if each[1]), run, threads=THREADS):
        yield from found


def _turn(host: HostPlan) -> str | None:
    """Return the current turn of a host; None if it cannot be read, so that all units are checked."""
    facts = query(endpoint(host)).facts
    return facts.generation.turn if facts and facts.generation else None


def _resting(check: ProbedUnit, turn: str | None) -> Verified:
    """Return why a unit that the user named was not checked."""
    hint = f"run sparkiac turn INVENTORY {check.turns[0]}"
    reason = f"it does not run in the turn {turn}, which is the current one on {check.endpoint.name}"
    return Verified(check.name, check.endpoint.name, (), HostFailure(reason, hint))


def _verified(check: ProbedUnit, source: RequestOrigin) -> Verified:
    try:
        return Verified(check.name, check.endpoint.name, steps_of(_reached(check), source), None)
    except HostFailure as failure:
        return Verified(check.name, check.endpoint.name, (), failure)


def _reached(unit: ProbedUnit) -> ProbedUnit:
    """Return a unit that the origin reaches. Raises HostFailure."""
    if unit.loopback:
        raise HostFailure("it listens on loopback", "set bind to lan or fabric, or use --from host")
    return unit


def _checks(
    host: HostPlan, source: RequestOrigin, client: Container | None, *, only: str | None
) -> Iterator[ProbedUnit]:
    """Return the checks of a host. Workers of a group serve no HTTP, and are checked on their hosts only.

    `client` is the container that requests come from.
    """
    for unit in host.units:
        promised = host.promises.get(unit.unit)
        if promised is None or only not in {None, unit.name} or (promised.url is None and source.name != "host"):
            continue
        promise = promised
        if source.name != "host":  # only a host can check the connections of a group
            promise = promised._replace(url=_url(unit, host, client), store=None, workers=0)
        loopback = promise.url is None and promised.url is not None
        yield ProbedUnit(unit.name, endpoint(host), promise, loopback, host.turns_of(unit))


def _url(unit: Container | Program, host: HostPlan, client: Container | None) -> str | None:
    """Return the URL of a unit for a client, or for this machine; None if there is none."""
    links = client.dependencies if client else ()
    own = next((link.url for link in links if link.target == unit.path and link.url is not None), None)
    if own is not None:
        return own.removesuffix("/").removesuffix("/v1")
    if unit.network.listen is None or unit.network.listen[0] == LOOPBACK:
        return None
    address, port = unit.network.listen
    return f"http://{host.address if address == EVERY else address}:{port}"
