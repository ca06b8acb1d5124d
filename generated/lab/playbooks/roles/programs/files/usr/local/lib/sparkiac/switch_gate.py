"""Send requests to the units that restarted, as their clients do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import units_host
import units_report

if TYPE_CHECKING:
    from switch_store import Generation
    from units_host import LocalHost

PROBE = "/usr/local/lib/sparkiac/probe.py"
GATE_WAIT_S = 60
"""How long the gate repeats a request that failed; the unit is ready already."""
ANSWERS = ("chat", "generate", "embedding", "transcription")
"""Kinds of deployments that must give the known answer, if their server has a chat endpoint."""


def gate(machine: LocalHost, generation: Generation, names: list[str]) -> list[str]:
    """Send requests to the units that restarted, as clients do; return a report for each that does not answer well."""
    asked = [unit for unit in generation.plan["units"] if unit["name"] in names and has_url(unit)]
    since = units_report.position(machine)
    failed = []
    for unit in asked:
        done = machine.run(*question(machine, unit["promise"]))
        if done.code:
            failed.append(units_report.answered(machine, unit, " ".join(done.errors.split()), since))
    return failed


def has_url(unit: dict[str, Any]) -> bool:
    """Return whether a unit accepts requests; a worker of a group does not."""
    return unit["promise"] is not None and unit["promise"]["url"] is not None


def question(machine: LocalHost, wanted: dict[str, Any]) -> list[str]:
    """Return the command that asks a unit."""
    argv = ["python3", str(machine.path(PROBE)), "--warm-up" if wanted["kind"] in ANSWERS else "--no-warm-up"]
    argv += ["--wait", str(GATE_WAIT_S), "--within", str(wanted["answer_s"]), "--health", wanted["health"] or ""]
    if wanted["api_key"]:
        argv += ["--token-file", str(machine.path(f"{units_host.SECRETS}/{wanted['api_key']}"))]
    return [*argv, *(["--tools"] if "tools" in wanted["clients"] else []), "--", wanted["url"], *wanted["models"]]
