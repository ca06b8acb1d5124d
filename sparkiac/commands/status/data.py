"""The state of the hosts as plain data; docs/status.md describes the keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparkiac.fleet.status import HostStatus, UnitStatus


def data(statuses: Sequence[HostStatus]) -> dict[str, Any]:
    """Return {"healthy": …, "as_generated": …, "hosts": [{name, reachable, problems, units, …}]}."""
    kinds = {problem.kind for host in statuses for problem in host.problems}
    return {
        "healthy": "unhealthy" not in kinds,
        "as_generated": "drift" not in kinds,
        "hosts": [_host(host) for host in statuses],
    }


def _host(host: HostStatus) -> dict[str, Any]:
    found = {
        "name": host.name,
        "address": host.address,
        "reachable": host.reachable,
        "generated": host.generated,
        "clock_s": None if host.clock_s is None else round(host.clock_s, 1),
        "problems": [problem._asdict() for problem in host.problems],
        "units": [_unit(unit) for unit in host.units],
    }
    facts = host.facts
    if facts is None:
        return found | {"machine": None, "generation": None, "drift": None, "root": None, "unread": {}}
    return found | facts.model_dump(mode="json", include={"machine", "generation", "drift", "root", "unread"})


def _unit(unit: UnitStatus) -> dict[str, Any]:
    load = unit.load._asdict()
    rate = load["tokens_per_s"]
    found = {"name": unit.name, "state": unit.state, "ready": unit.ready}
    found["load"] = load | {"tokens_per_s": None if rate is None else round(rate, 1)}
    facts = unit.facts
    return found | ({} if facts is None else facts.model_dump(mode="json", exclude={"name", "readings"}))
