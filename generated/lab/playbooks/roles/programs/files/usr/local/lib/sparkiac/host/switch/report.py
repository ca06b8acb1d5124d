"""Send requests to units as their clients do, and summarise in ten lines why a unit is not ready or answers wrongly."""

from __future__ import annotations

import re
from typing import Any

from .. import local
from ..local import LocalHost
from . import record, starts, store
from .store import Generation

PROBE = "/usr/local/lib/sparkiac/probe.py"
GATE_WAIT_S = 60
"""How long the gate repeats a request that failed; the unit is ready already."""
QUEUE_WAIT_S = 30
"""How long the gate waits until no request waits in the engine; while one waits, it requests no answer."""
ENGINE_LINES = 6
ACCESS = re.compile(r'"(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) [^"]* HTTP/[\d.]+"')
ERROR = re.compile(
    r"error|exception|traceback|fatal|critical|fail|killed|refused|denied|cannot|out of memory|no such", re.IGNORECASE
)
HEALTH = re.compile(r"supervise: (?:stopping, last state: )?((?:starting|unhealthy|healthy)\b.*)")
NOT_ENGINE = re.compile(
    r"sparkiac-[a-z0-9-]+\.service: |(?:Starting|Started|Stopping|Stopped|Failed to start) sparkiac-"  # systemd
    r"|(?:/usr/local/lib/sparkiac/)?(?:supervise|group): |(?:ok|info) {2}"  # programs of the unit, and their shell
    r"| *(?:Container|Compose|Attaching to) |\W*$"  # Compose; a line without a word, such as {}
)
CURSOR = re.compile(r'"__CURSOR" ?: ?"([^"]+)"')
RESULTS = {
    "timeout": "it was not ready in time",
    "exit-code": "its process ended with an error",
    "watchdog": "its health check failed for too long",
    "oom-kill": "it was killed because memory ran out",
    "signal": "its process was killed",
    "core-dump": "its process crashed",
    "start-limit-hit": "systemd gave it up after too many starts",
}


def position(machine: LocalHost) -> str:
    """Return the end of the journal, from which a report reads; empty if the journal is.

    It is no time, because the clock of the host may be set while a unit starts.
    """
    argv = ("journalctl", "--quiet", "--no-pager", "--lines=1", "--output=json", "--output-fields=PRIORITY")
    found = CURSOR.search(machine.run(*argv).output)
    return found[1] if found else ""


def report(machine: LocalHost, unit: dict[str, Any], since: str, refused: str = "") -> str:
    """Return the result of the unit, its last health check and the last errors of the engine.

    `refused` is what systemctl said: a unit that systemd did not start at all has the result `success`.
    """
    name = unit["name"]
    shown = machine.run("systemctl", "show", "--property=Result", "--value", local.unit_file(name)).output.strip()
    lines = logged(machine, name, since)
    checks = [found[1] for line in lines if (found := HEALTH.match(line))]
    reason = starts.gave_up(machine, name) or RESULTS.get(shown) or local.clean(refused.partition("\n")[0]) or shown
    head = f"{name} did not become ready: {reason}.", f"last health check: {checks[-1] if checks else 'none'}"
    return with_log(name, head, lines)


def answered(machine: LocalHost, unit: dict[str, Any], fault: str, since: str) -> str:
    """Return what was wrong with the answer of a unit that runs, and the last errors of the engine."""
    name = unit["name"]
    head = f"{name} is ready, but does not answer as its clients need at {unit['promise']['url']}:", local.clean(fault)
    return with_log(name, head, logged(machine, name, since))


def with_log(name: str, head: tuple[str, ...], lines: list[str]) -> str:
    """Return a report with the last errors of the engine among the lines of a unit."""
    return "\n".join([*head, *(f"  {line}" for line in engine(lines)), f"whole log: journalctl --unit={name}"])


def logged(machine: LocalHost, name: str, since: str) -> list[str]:
    """Return what a unit has logged after a position in the journal."""
    argv = ("journalctl", "--no-pager", "--output=cat", "--lines=2000", *([f"--after-cursor={since}"] if since else []))
    return [local.clean(line) for line in machine.run(*argv, f"--unit={local.unit_file(name)}").output.splitlines()]


def engine(lines: list[str]) -> list[str]:
    """Return the last errors that the engine printed, or its last lines if no line looks like an error."""
    printed = [line for line in lines if line and not ACCESS.search(line) and not NOT_ENGINE.match(line)]
    errors = [line for line in printed if ERROR.search(line)]
    return list(dict.fromkeys(errors or printed))[-ENGINE_LINES:]


def gate(machine: LocalHost, generation: Generation, names: list[str]) -> list[str]:
    """Send requests to the units that restarted, as clients do; return a report for each that does not answer well.

    Its version must pass its gate at the next start again.
    """
    asked = [unit for unit in generation.plan["units"] if unit["promise"] and unit["name"] in names]
    since = position(machine)
    failed = []
    for unit in asked:
        waits = "--wait", str(GATE_WAIT_S), "--queue", str(QUEUE_WAIT_S)
        done = machine.run("python3", str(machine.path(PROBE)), "check", *waits, *places(machine), unit["name"])
        if done.code:
            state = local.states(machine, [unit["name"]])[unit["name"]]
            record.note(machine, unit["name"], state["InvocationID"], good=False)
            failed.append(answered(machine, unit, " ".join(done.errors.split()), since))
    return failed


def places(machine: LocalHost) -> list[str]:
    """Return where the promises and the keys of this host are."""
    found = {"--generation": f"/{store.PLAN}", "--secrets": local.SECRETS}
    return [word for option, path in found.items() for word in (option, str(machine.path(path)))]
