"""Which links of a plan reach each other: those in one network."""

from __future__ import annotations

from ipaddress import ip_interface
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sparkiac.model.inventory import FabricLink
    from sparkiac.plan import HostPlan, Plan


class End(NamedTuple):
    """A link at its host."""

    host: HostPlan
    link: FabricLink

    @property
    def address(self) -> str:
        """Return the address of the link without its prefix length."""
        return str(ip_interface(self.link.address).ip)


class Pair(NamedTuple):
    """Two links in one network, of two hosts."""

    source: End
    target: End


def pairs(plan: Plan) -> tuple[Pair, ...]:
    """Return the pairs of links that a cable or a switch should connect."""
    ends = [End(host, link) for host in plan.hosts for link in host.links]
    return tuple(
        Pair(one, other)
        for one, other in combinations(ends, 2)
        if one.host.name != other.host.name
        and ip_interface(one.link.address).network == ip_interface(other.link.address).network
    )


def groups(plan: Plan) -> dict[str, list[HostPlan]]:
    """Return the hosts of each group."""
    found: dict[str, list[HostPlan]] = {}
    for host in plan.hosts:
        for container in host.containers:
            if container.server.node is not None:
                found.setdefault(container.name, []).append(host)
    return found
