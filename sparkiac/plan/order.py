"""The order in which units start on a host and in which hosts change during a rollout.

Units start one after the other, after the units that they depend on. Engines start first and never at the same time,
because two engines that measure the free memory at once get wrong values. The nodes of a group must start together,
because none is ready without the others: they start before other engines, and their hosts change in one batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sparkiac.plan.dependents import Program
    from sparkiac.plan.values import Container

    Units: TypeAlias = Mapping[str, Iterable[Container | Program]]


class _Item(NamedTuple):
    """Units that start at the same time: one unit, or a group on all its hosts. Items sort in start order."""

    is_service: bool
    depth: int
    is_alone: bool
    unit: str
    hosts: tuple[str, ...]
    needs: tuple[str, ...]
    """Units that it depends on."""


def start_order(units: Units) -> dict[str, tuple[str, ...]]:
    """Return the units of each host in start order. Groups have the same order on all hosts."""
    found: dict[str, list[str]] = {host: [] for host in units}
    for item in sorted(_items(units).values()):
        for host in item.hosts:
            found[host].append(item.unit)
    return {host: tuple(ordered) for host, ordered in found.items()}


def together(units: Units) -> tuple[tuple[str, ...], ...]:
    """Return the hosts that change together, each set sorted: hosts that groups connect, and each other host alone."""
    return tuple(sorted({*_batch_of_host(units, _items(units)).values()}))


def batches(units: Units) -> tuple[tuple[str, ...], ...]:
    """Return the batches of a rollout: hosts that change together. A batch comes after the batches that it depends on.

    The hosts of a group are in one batch, because none of its nodes is ready before the others have restarted.
    """
    items = _items(units)
    batch_of = _batch_of_host(units, items)
    pending: dict[tuple[str, ...], set[tuple[str, ...]]] = {batch: set() for batch in sorted({*batch_of.values()})}
    for item in items.values():
        for host in item.hosts:
            needs = {batch_of[other] for unit in item.needs for other in items[unit].hosts}
            pending[batch_of[host]] |= needs - {batch_of[host]}
    found: list[tuple[str, ...]] = []
    while pending:
        # If batches depend on each other in a cycle, the first one by name is chosen.
        chosen = next((batch for batch, needs in pending.items() if not needs & pending.keys()), next(iter(pending)))
        del pending[chosen]
        found.append(chosen)
    return tuple(found)


def _batch_of_host(units: Units, items: Mapping[str, _Item]) -> dict[str, tuple[str, ...]]:
    """Return host → batch: all hosts that are connected to it by groups, directly or through other hosts."""
    found = {host: {host} for host in units}
    for item in items.values():
        joined = set[str]().union(*(found[host] for host in item.hosts))
        found |= dict.fromkeys(joined, joined)
    return {host: tuple(sorted(batch)) for host, batch in found.items()}


def _items(units: Units) -> dict[str, _Item]:
    hosts: dict[str, tuple[str, ...]] = {}
    needs: dict[str, tuple[str, ...]] = {}
    services = set[str]()
    for host, found in units.items():
        for each in found:
            hosts[each.unit] = (*hosts.get(each.unit, ()), host)
            needs[each.unit] = tuple(link.unit for link in each.dependencies if link.unit is not None)
            services |= {each.unit} if each.path[0] == "services" else set()

    def depth(unit: str) -> int:
        return max((depth(other) + 1 for other in needs[unit]), default=0)

    return {
        unit: _Item(unit in services, depth(unit), len(hosts[unit]) == 1, unit, hosts[unit], needs[unit])
        for unit in hosts
    }
