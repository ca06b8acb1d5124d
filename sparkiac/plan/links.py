"""The host's links: the addresses and RDMA devices that a node of a group uses, and their settings for netplan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_interface
from itertools import count
from typing import Any, Final

from sparkiac.host.preflight.expectations import FabricLookup, GroupPorts, RdmaLink
from sparkiac.model.inventory import FabricLink, Twin
from sparkiac.model.resolved import ResolvedHost
from sparkiac.plan.container import GroupLink
from sparkiac.plan.topology import address_towards
from sparkiac.resolve.fabric import link_address, links_of
from sparkiac.resolve.required import is_address as is_address  # noqa: PLC0414  rendering imports it from the plan

Environment = Mapping[str, str | int]

RDMA: Final = "/dev/infiniband"
"""Device files of RDMA."""
_LINK_PORT: Final = 7349
"""Port of the leader of the first group; 7348 is that of the votes in an apply."""


def lookup(host: ResolvedHost, env: Environment, *, mesh: bool) -> FabricLookup | None:
    """Return the link values that must be read on the host, because the node's environment does not set them."""
    named = env.keys() >= {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}
    sockets = host.address if mesh and not named else None
    rdma = () if "NCCL_IB_GID_INDEX" in env else _rdma(host, env)
    return FabricLookup(rdma, sockets) if rdma or sockets else None


def addresses(hosts: tuple[ResolvedHost, ...], *, mesh: bool, pairs: bool) -> tuple[str, ...]:
    """Return the addresses at which the nodes of a group reach each other, the leader first.

    With `pairs`, only the leader connects to the others, in a mesh over the cable that it has to each of them.
    """
    leader = hosts[0]
    if not mesh:
        return tuple(map(link_address, hosts))
    if not pairs:
        return tuple(host.address for host in hosts)
    return (leader.address, *(address_towards(host, [leader]) for host in hosts[1:]))


def link(names: tuple[str, ...], hosts: tuple[ResolvedHost, ...], *, mesh: bool, number: int) -> GroupLink | None:
    """Return where the workers of a group connect to the leader; None for a single host."""
    if len(hosts) == 1:
        return None
    return GroupLink(names[0], addresses(hosts, mesh=mesh, pairs=False)[0], _LINK_PORT + number, names[1:])


def group_numbers(placed: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """Return a number for each deployment: the lowest one that no earlier group with a host in common has.

    The order is that of the inventory, so that a group that is added at the end does not move the ports of others.
    """
    found = dict.fromkeys(placed, 0)
    used: dict[str, set[int]] = {}
    for name, hosts in placed.items():
        if len(hosts) > 1:
            taken = [used.setdefault(host, set()) for host in hosts]
            found[name] = next(number for number in count() if not any(number in each for each in taken))
            for each in taken:
                each.add(found[name])
    return found


def group_ports(
    ports: tuple[str, ...], node: ResolvedHost, others: tuple[ResolvedHost, ...], *, mesh: bool, pairs: bool
) -> GroupPorts | None:
    """Return the ports that a node opens and for whom; None if an address is a name, which cannot be filtered."""
    if not ports:
        return None
    towards = tuple(address_towards(other, [node]) for other in others)
    found = towards if pairs else addresses(others, mesh=mesh, pairs=False)
    return GroupPorts(ports, found) if all(map(is_address, (node.address, *found))) else None


def every_address(hosts: Iterable[ResolvedHost]) -> tuple[str, ...]:
    """Return all addresses of hosts, from which they may connect; none if one is a name, which cannot be filtered."""
    found: list[str] = []
    for host in hosts:
        ends = (end for link in links_of(host) for end in (link, link.twin) if end is not None)
        found += [host.address, *(str(ip_interface(end.address).ip) for end in ends if end.address is not None)]
    return tuple(dict.fromkeys(found)) if all(map(is_address, found)) else ()


def device_files(host: ResolvedHost, env: Environment) -> tuple[str, ...]:
    """Return the device files that the container of a node needs."""
    return (RDMA,) if _rdma(host, env) else ()


def _rdma(host: ResolvedHost, env: Environment) -> tuple[RdmaLink, ...]:
    """Return the RDMA devices of a node, unless its environment turns RDMA off."""
    if str(env.get("NCCL_IB_DISABLE", 0)) != "0":
        return ()
    ends = (end for link in links_of(host) for end in (link, link.twin) if end is not None)
    return tuple(
        RdmaLink(end.hca, end.interface, None if end.address is None else str(ip_interface(end.address).ip))
        for end in ends
        if end.hca is not None
    )


def ethernets(host: ResolvedHost) -> dict[str, dict[str, Any]]:
    """Return the settings of each interface; empty if the inventory does not use netplan."""
    if host.fabric is None or not host.fabric.netplan:
        return {}
    ends = [(end, link.mtu) for link in links_of(host) for end in (link, link.twin) if end is not None]
    return {end.interface: _ethernet(end, mtu) for end, mtu in sorted(ends, key=lambda each: each[0].interface)}


def _ethernet(end: FabricLink | Twin, mtu: int | None) -> dict[str, Any]:
    """Return the settings of an interface; the boot does not wait for it."""
    settings: dict[str, Any] = {"accept-ra": False, "dhcp4": False, "dhcp6": False}
    if end.address is not None:
        settings["addresses"] = [end.address]
    if mtu is not None:
        settings["mtu"] = mtu
    return settings | {"link-local": ["ipv6"], "optional": True}
