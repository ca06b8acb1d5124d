"""Send requests to the units that restarted, as their clients do."""

from __future__ import annotations

from .. import local
from ..local import LocalHost
from . import report, store
from .store import Generation

PROBE = "/usr/local/lib/sparkiac/probe.py"
GATE_WAIT_S = 60
"""How long the gate repeats a request that failed; the unit is ready already."""
QUEUE_WAIT_S = 30
"""How long the gate waits until no request waits in the engine; while one waits, it requests no answer."""


def gate(machine: LocalHost, generation: Generation, names: list[str]) -> list[str]:
    """Send requests to the units that restarted, as clients do; return a report for each that does not answer well."""
    asked = [unit for unit in generation.plan["units"] if unit["promise"] and unit["name"] in names]
    since = report.position(machine)
    failed = []
    for unit in asked:
        done = machine.run(*question(machine, unit["name"]))
        if done.code:
            failed.append(report.answered(machine, unit, " ".join(done.errors.split()), since))
    return failed


def question(machine: LocalHost, unit: str) -> list[str]:
    """Return the command that checks a unit."""
    argv = ["python3", str(machine.path(PROBE)), "check", "--wait", str(GATE_WAIT_S), "--queue", str(QUEUE_WAIT_S)]
    return [*argv, *places(machine), unit]


def places(machine: LocalHost) -> list[str]:
    """Return where the promises and the keys of this host are."""
    found = {"--generation": f"/{store.PLAN}", "--secrets": local.SECRETS}
    return [word for option, path in found.items() for word in (option, str(machine.path(path)))]
