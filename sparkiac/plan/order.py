"""The order in which units start on a host, and which hosts must change together or after others.

Turns are deployments and services that share a host and never run together.

Units start one after the other, after the units that they depend on. Engines start first and never at the same time,
because two engines that measure the free memory at once get wrong values. The nodes of a group must start together,
because none is ready without the others: they start before other engines, and their hosts change together, by a vote.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from sparkiac.host.generation import ChangeGroup
from sparkiac.memory.budget import HostBudget
from sparkiac.model.inventory import Inventory, Turn
from sparkiac.plan.links import every_address
from sparkiac.plan.topology import address_towards

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.plan.container import Container, Program

    Units: TypeAlias = Mapping[str, Iterable[Container | Program]]
    Together: TypeAlias = tuple[str, ...]
    """Hosts that change together, sorted; for a host without a group, only itself."""


EXPORTERS: Final = ("monitoring", "exporters")
"""Path of the exporters in the inventory: each runs on every host, but they are not a group."""


_VOTE_PORT: Final = 7348
"""Port of the coordinator, open only while the hosts change; 7347 is that of copied weights."""


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


def changes(units: Units) -> dict[Together, set[Together]]:
    """Return hosts that change together → those that must change before, because they run a server that is used.

    The hosts of a group change together, because none of its nodes is ready before the others have restarted.
    """
    items = _items(units)
    together = _together(units, items)
    found: dict[Together, set[Together]] = {hosts: set() for hosts in sorted({*together.values()})}
    for item in items.values():
        for host in item.hosts:
            needs = {together[other] for unit in item.needs for other in items[unit].hosts}
            found[together[host]] |= needs - {together[host]}
    return found


def change_groups(
    together: Iterable[tuple[str, ...]], hosts: Mapping[str, ResolvedHost]
) -> dict[str, ChangeGroup | None]:
    """Return for each host the group that it changes with; None if it changes alone."""
    found: dict[str, ChangeGroup | None] = {}
    for members in together:
        found |= dict.fromkeys(members, _change_group(members, hosts) if len(members) > 1 else None)
    return found


def _change_group(members: tuple[str, ...], hosts: Mapping[str, ResolvedHost]) -> ChangeGroup:
    coordinator = members[0]
    address = address_towards(hosts[coordinator], [hosts[name] for name in members])
    peers = every_address(hosts[name] for name in members[1:])
    return ChangeGroup(members, coordinator, address, _VOTE_PORT, peers)


def _together(units: Units, items: Mapping[str, _Item]) -> dict[str, Together]:
    """Return host → all hosts that are connected to it by groups, directly or through other hosts."""
    found = {host: {host} for host in units}
    for item in items.values():
        joined = set[str]().union(*(found[host] for host in item.hosts))
        found |= dict.fromkeys(joined, joined)
    return {host: tuple(sorted(hosts)) for host, hosts in found.items()}


def _items(units: Units) -> dict[str, _Item]:
    """Return the items by the name of their unit; an exporter has one item for each host."""
    hosts: dict[str, tuple[str, ...]] = {}
    names: dict[str, str] = {}
    needs: dict[str, tuple[str, ...]] = {}
    services = set[str]()
    for host, found in units.items():
        for each in found:
            key = f"{each.unit} {host}" if each.path[:2] == EXPORTERS else each.unit
            names[key] = each.unit
            hosts[key] = (*hosts.get(key, ()), host)
            needs[key] = tuple(link.unit for link in each.dependencies if link.unit is not None)
            services |= {key} if each.path[0] != "deployments" else set()

    def depth(key: str) -> int:
        return max((depth(other) + 1 for other in needs[key]), default=0)

    return {
        key: _Item(key in services, depth(key), len(hosts[key]) == 1, names[key], hosts[key], needs[key])
        for key in hosts
    }


class TurnMembers(NamedTuple):
    """A turn of the inventory."""

    name: str
    members: frozenset[str]
    """Deployments and services that it lists."""
    at: str | None
    """Time of the day at which it begins, if it has one."""


class PlannedTurn(NamedTuple):
    """A turn of one host."""

    name: str
    at: str | None
    units: frozenset[str]
    """Names of the deployments and services of the host that run in it, with those that always run."""
    budget: HostBudget
    """Memory budget of the host in this turn."""


def turns(written: Inventory) -> tuple[TurnMembers, ...]:
    """Return the turns of an inventory in their order, whether written in the short or the long form."""
    return tuple(
        TurnMembers(name, frozenset(turn.run), turn.at)
        if isinstance(turn, Turn)
        else TurnMembers(name, frozenset(turn), None)
        for name, turn in written.turns.items()
    )


def running(found: Iterable[TurnMembers], name: str) -> tuple[str, ...]:
    """Return the turns in which a deployment or service runs; empty if it always runs."""
    return tuple(turn.name for turn in found if name in turn.members)


def of_host(found: Iterable[TurnMembers], names: Iterable[str]) -> list[tuple[TurnMembers, frozenset[str]]]:
    """Return each turn with the names that run in it on a host; nothing if none of its names takes turns."""
    listed, here = list(found), frozenset(names)
    taking = frozenset[str]().union(*(turn.members for turn in listed))
    return [(turn, here - (taking - turn.members)) for turn in listed] if taking & here else []
