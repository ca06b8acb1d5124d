"""All checks of `sparkiac fabric verify`, host by host and pair by pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.fleet.fabric import checks, measuring

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.fleet.fabric.checks import LinkCheck
    from sparkiac.fleet.fabric.measuring import End
    from sparkiac.fleet.fabric.reading import HostPorts
    from sparkiac.model.link_record import MeasuredSpeed
    from sparkiac.plan import Plan


def verify(plan: Plan, read: Mapping[str, HostPorts], *, speed: bool) -> tuple[list[LinkCheck], list[MeasuredSpeed]]:
    """Check the hosts that were read; one pair after the other, because a second one would slow the first one."""
    steps = [step for host in plan.hosts if host.name in read for step in checks.of_host(host, read[host.name])]
    steps += checks.of_groups(plan, read)
    speeds: list[MeasuredSpeed] = []
    for pair in measuring.pairs(plan):
        if not {pair.source.host.name, pair.target.host.name} <= read.keys():
            continue
        reached = measuring.ping(pair, _mtu(pair.source, read))
        steps.append(reached)
        if speed and reached.passed:
            for step, measured in measuring.speeds(pair, read):
                steps.append(step)
                speeds += [measured] if measured else []
    return steps, speeds


def _mtu(end: End, read: Mapping[str, HostPorts]) -> int | None:
    """Return the stated MTU of a link, otherwise that of the interface."""
    port = read[end.host.name].interfaces.get(end.link.interface)
    return end.link.mtu or (port.mtu if port else None)
