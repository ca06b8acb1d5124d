"""In which order units start: one after the other on each host, and none before what it asks.

Engines go first: two that measure free memory at once mislead each other. The nodes of a group start at the same time,
because none is ready without the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sparkiac.plan.askers import Program
    from sparkiac.plan.values import Container


class _Item(NamedTuple):
    """What starts at one time: a unit, or a group on all its hosts."""

    is_service: bool
    depth: int
    unit: str
    hosts: tuple[str, ...]
    asks: tuple[str, ...]


def starts(units: Mapping[str, Iterable[Container | Program]]) -> dict[str, tuple[str | None, ...]]:
    """Give, for each host, the unit that starts at each step of the fleet, or None where the host waits."""
    items = _items(units)
    steps: dict[str, int] = {}
    free = dict.fromkeys(units, 0)
    for item in sorted(items.values()):
        step = max([*(free[host] for host in item.hosts), *(steps[unit] + 1 for unit in item.asks)])
        steps[item.unit] = step
        free |= dict.fromkeys(item.hosts, step + 1)
    length = max(free.values(), default=0)
    taken = {(host, steps[item.unit]): item.unit for item in items.values() for host in item.hosts}
    return {host: tuple(taken.get((host, step)) for step in range(length)) for host in units}


def _items(units: Mapping[str, Iterable[Container | Program]]) -> dict[str, _Item]:
    hosts: dict[str, tuple[str, ...]] = {}
    asks: dict[str, tuple[str, ...]] = {}
    services = set[str]()
    for host, found in units.items():
        for each in found:
            hosts[each.unit] = (*hosts.get(each.unit, ()), host)
            asks[each.unit] = tuple(link.unit for link in each.links if link.unit is not None)
            services |= {each.unit} if each.path[0] == "services" else set()

    def depth(unit: str) -> int:
        return max((depth(other) + 1 for other in asks[unit]), default=0)

    return {unit: _Item(unit in services, depth(unit), unit, hosts[unit], asks[unit]) for unit in hosts}
