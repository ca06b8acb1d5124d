"""What every node of a group needs on its host, by the decision table of the catalog.

The values are the layer above the engine's defaults, so that a recipe, the inventory's defaults and a deployment can
change or remove each of them. `sparkiac plan --explain` prints the reason and the source with the value.

The first links of most groups are in one network: a cable between two hosts, or a switch. In a *mesh*, each cable has a
network of its own, as with three hosts without a switch. A *ring* is a mesh of four or more hosts, each cabled to the
one before and the one after it in the list under `hosts`.
"""

from __future__ import annotations

from ipaddress import ip_interface
from itertools import combinations
from typing import TYPE_CHECKING, Final

from sparkiac import catalog
from sparkiac.report import Finding, Origin, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from ipaddress import IPv4Network, IPv6Network

    from sparkiac.model.inventory import FabricLink, Host
    from sparkiac.model.records import LinkRecord
    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.resolve.leaves import Leaves
    from sparkiac.source.document import Document

    Links = tuple[FabricLink, ...]

_SLOWER_HINT: Final = "check the cable and both ports, then run `sparkiac fabric verify` again"


def links_of(host: Host | ResolvedHost) -> Links:
    """Return the high-speed links of a host; the first one carries the traffic of most groups."""
    return host.fabric.links if host.fabric else ()


def is_mesh(members: Sequence[Links]) -> bool:
    """Return whether the first links are in several networks, and each host shares one with the next in the list."""
    first = {ip_interface(links[0].address).network for links in members}
    return len(first) > 1 and not unlinked(members)


def is_ring(members: Sequence[Links]) -> bool:
    """Return whether the hosts are a mesh in which not every pair has a cable."""
    networks = [networks_of(links) for links in members]
    return is_mesh(members) and not all(one & other for one, other in combinations(networks, 2))


def unlinked(members: Sequence[Links]) -> list[tuple[int, int]]:
    """Return the neighbours in the list that share no network; the first host is the neighbour of the last one."""
    networks = [networks_of(links) for links in members]
    pairs = sorted({tuple(sorted((index, (index + 1) % len(members)))) for index in range(len(members))})
    return [(one, other) for one, other in pairs if not networks[one] & networks[other]]


def networks_of(links: Links) -> set[IPv4Network | IPv6Network]:
    """Return the networks of the links."""
    return {ip_interface(link.address).network for link in links}


def devices(links: Links) -> tuple[str, ...]:
    """Return the RDMA devices of the links, each followed by that of its twin."""
    named = (device for link in links for device in (link.hca, link.twin.hca if link.twin else None))
    return tuple(device for device in named if device is not None)


def layer(host: Host, members: Sequence[Links], executor: str, *, nccl: bool = True) -> Leaves:
    """Return the settings of a node; `members` are the links of all hosts of its group."""
    known = {"always", "rdma" if devices(links_of(host)) else "no rdma", "mesh" if is_mesh(members) else "one network"}
    known |= {"ring"} if is_ring(members) else set()
    return {
        each.path: (_VALUES[each.of](host) if each.of else each.value, Origin(f"group: {each.reason} ({each.source})"))
        for each in catalog.group_settings()
        if each.when in known and (executor in each.executors if each.executors else nccl)
    }


def link_address(host: Host | ResolvedHost) -> str:
    """Return the address of a host's first link. The host must have one."""
    return str(ip_interface(links_of(host)[0].address).ip)


_VALUES: Final[dict[str, Callable[[Host], str]]] = {
    "link address": link_address,
    "host address": lambda host: host.address,
    "interface": lambda host: links_of(host)[0].interface,
    "devices": lambda host: ",".join(devices(links_of(host))),
}


def slower_links(document: Document, record: LinkRecord | None) -> Iterator[Finding]:
    """Report links that were slower in the last run of `sparkiac fabric verify` than in the best one."""
    for link in record.links if record else ():
        if link.slower:
            message = (
                f"{link.tool} measured {link.latest_gbit} Gbit/s from {link.source} to {link.target} over "
                f"{link.interface}, but {link.best_gbit} Gbit/s before"
            )
            loc = document.at_key(("hosts", link.source))
            yield Finding("MN104", "slower-link", Severity.WARNING, message, loc, _SLOWER_HINT)
