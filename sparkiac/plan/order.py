"""In which order units start: one after the other on each host, and none before what it asks.

Engines go first: two that measure free memory at once mislead each other. The nodes of a group start at the same time,
because none is ready without the others: they come before the engines of one host, and their hosts change together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sparkiac.plan.dependents import Program
    from sparkiac.plan.values import Container

    Units: TypeAlias = Mapping[str, Iterable[Container | Program]]


class _Item(NamedTuple):
    """What starts at one time: a unit, or a group on all its hosts."""

    is_service: bool
    depth: int
    is_alone: bool
    unit: str
    hosts: tuple[str, ...]
    asks: tuple[str, ...]


def start_order(units: Units) -> dict[str, tuple[str, ...]]:
    """Give the units of each host in the order in which they start. Groups come in one order on all hosts."""
    found: dict[str, list[str]] = {host: [] for host in units}
    for item in sorted(_items(units).values()):
        for host in item.hosts:
            found[host].append(item.unit)
    return {host: tuple(ordered) for host, ordered in found.items()}


def batches(units: Units) -> tuple[tuple[str, ...], ...]:
    """Give the hosts that change together, in the order in which they change: first what is asked, then who asks.

    The hosts of a group are one batch: none of its nodes is ready before the others have started again.
    """
    items = _items(units)
    batch_of = _linked(units, items)
    asked: dict[tuple[str, ...], set[tuple[str, ...]]] = {batch: set() for batch in sorted({*batch_of.values()})}
    for item in items.values():
        for host in item.hosts:
            needs = {batch_of[other] for unit in item.asks for other in items[unit].hosts}
            asked[batch_of[host]] |= needs - {batch_of[host]}
    found: list[tuple[str, ...]] = []
    while asked:
        # Batches that ask each other in a circle: the first one by name begins.
        chosen = next((batch for batch, needs in asked.items() if not needs & asked.keys()), next(iter(asked)))
        del asked[chosen]
        found.append(chosen)
    return tuple(found)


def _linked(units: Units, items: Mapping[str, _Item]) -> dict[str, tuple[str, ...]]:
    """Give each host its batch: all hosts that groups link to it, directly or over others."""
    found = {host: {host} for host in units}
    for item in items.values():
        joined = set[str]().union(*(found[host] for host in item.hosts))
        found |= dict.fromkeys(joined, joined)
    return {host: tuple(sorted(batch)) for host, batch in found.items()}


def _items(units: Units) -> dict[str, _Item]:
    hosts: dict[str, tuple[str, ...]] = {}
    asks: dict[str, tuple[str, ...]] = {}
    services = set[str]()
    for host, found in units.items():
        for each in found:
            hosts[each.unit] = (*hosts.get(each.unit, ()), host)
            asks[each.unit] = tuple(link.unit for link in each.dependencies if link.unit is not None)
            services |= {each.unit} if each.path[0] == "services" else set()

    def depth(unit: str) -> int:
        return max((depth(other) + 1 for other in asks[unit]), default=0)

    return {
        unit: _Item(unit in services, depth(unit), len(hosts[unit]) == 1, unit, hosts[unit], asks[unit])
        for unit in hosts
    }
