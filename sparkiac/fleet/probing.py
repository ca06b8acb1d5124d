"""Run the prober for one unit: on its host, on this machine, or in the container of a client.

On the host, the installed program runs. Elsewhere its parts are sent to a Python as input. The promise and the API key
are input as well, never arguments.
"""

from __future__ import annotations

import json
import sys
from typing import Final, NamedTuple

from sparkiac.fleet.query import HostFailure, SshEndpoint, run
from sparkiac.host.generation import Promise
from sparkiac.report.assets import files
from sparkiac.upstream import bundle, ssh
from sparkiac.upstream.reported import ReportedFacts, Text

IMPORTED: Final = ("__init__.py", "contract.py", "generation.py", "series.py")
"""What the prober imports beside its own files."""
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
    """`ok`, `failed` or `skipped`."""
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
    """One unit to check."""

    endpoint: SshEndpoint
    """Its host."""
    promise: Promise
    """What it promises, with the URL at which the origin reaches it."""


def steps_of(unit: ProbedUnit, origin: RequestOrigin) -> tuple[ProbeStep, ...] | HostFailure:
    """Run all steps for a unit."""
    if origin.name == "host":
        words = ("sh", "-c", _ROOT, "sh", _PYTHON, "/usr/local/lib/sparkiac/probe.py", *_CHECK)
        return _run(unit, unit.endpoint, words, _given(unit, None))
    key = api_key(unit)
    if isinstance(key, HostFailure):
        return key
    probe = (f"probe/{path}" for path, _ in files("sparkiac/host/probe"))
    sent = bundle.of("probe.program", (*IMPORTED, *probe), *_CHECK, text=_given(unit, key))
    if origin.container is None:
        return _run(unit, None, (sys.executable, *sent.words), sent.text)
    inside = ("docker", "exec", "--interactive", origin.container, _PYTHON, *sent.words)
    return _run(unit, origin.endpoint, ("sh", "-c", _ROOT, "sh", *inside), sent.text)


def _given(unit: ProbedUnit, key: str | None) -> str:
    return json.dumps({"promise": unit.promise._asdict(), "key": key})


def api_key(unit: ProbedUnit) -> str | HostFailure | None:
    """Read the API key of a unit from its host; None if it has none."""
    if unit.promise.api_key is None:
        return None
    path = f"/etc/sparkiac/secrets/{unit.promise.api_key}"
    done = _connected(unit.endpoint, ("sh", "-c", _ROOT, "sh", "cat", path), "", timeout_s=60)
    if isinstance(done, HostFailure):
        return done
    if done.returncode:
        hint = "allow sudo without a password there, or use --from host as root"
        return HostFailure(f"{path} cannot be read: {_last(done)}", hint, reachable=True)
    return done.stdout.strip()


def _run(
    unit: ProbedUnit, endpoint: SshEndpoint | None, words: tuple[str, ...], given: str
) -> tuple[ProbeStep, ...] | HostFailure:
    done = _connected(endpoint, words, given, timeout_s=unit.promise.answer_s + _MARGIN_S)
    if isinstance(done, HostFailure):
        return done
    try:
        return _ProbeResult.of_output(done.stdout).steps
    except ValueError as error:
        return _no_result(done, str(error), in_container="docker" in words)


def _no_result(done: ssh.Completed, fault: str, *, in_container: bool) -> HostFailure:
    if in_container and done.returncode in _NO_PYTHON:
        return HostFailure(
            f"the container of the client has no python3: {_last(done)}", "use --from host", reachable=True
        )
    reason = f"the prober did not run: {_last(done)}" if done.returncode else f"the prober: {fault}"
    return HostFailure(reason, "apply the generated files, or check what a login on the host prints", reachable=True)


def _last(done: ssh.Completed) -> str:
    return ssh.last_line(done.stderr, f"exit code {done.returncode}")


def _connected(
    endpoint: SshEndpoint | None, words: tuple[str, ...], text: str, *, timeout_s: float
) -> ssh.Completed | HostFailure:
    late = HostFailure(f"no result within {timeout_s:g} s", "check the load of the host and the link", reachable=False)
    return run(endpoint, words, text, timeout_s=timeout_s, late=late)
