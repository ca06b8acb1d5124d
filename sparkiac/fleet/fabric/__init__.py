"""Find the links of hosts from the reports of their ports: the PCIe devices of each, and which ports are connected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_interface
from typing import Final, NamedTuple

from sparkiac.fleet.machine import FabricPort, HostPorts, RdmaInterface

_LINK_LOCAL: Final = "169.254."
_FIRST_NETWORK: Final = 177
"""Third part of the first network to propose, as in spark-vllm-docker's guide: 192.168.177.0/24."""
_FIRST_HOST: Final = 11

End = tuple[str, str]
"""Host and interface."""


class FoundLink(NamedTuple):
    """A link of a host as `fabric.links` states it."""

    interface: str
    hca: str | None
    address: str | None
    mtu: int | None = None
    speed_gbit: float | None = None
    twin: RdmaInterface | None = None
    peers: tuple[End, ...] | None = None
    """Ends at the other side: one for a cable, several at a switch; empty if no host responded, None if unknown."""
    proposed: bool = False
    """Whether the host has no such address yet."""


def links(read: Mapping[str, HostPorts]) -> dict[str, tuple[FoundLink, ...]]:
    """Return the links of each host that are up, those to other hosts of the fleet first."""
    owner = {port.mac: (name, port.interface) for name, host in read.items() for port in host.ports or () if port.mac}
    found = {
        name: [_link(host, port, owner, name) for port in host.ports or () if port.up] for name, host in read.items()
    }
    proposed = _proposed(found)
    return {
        name: tuple(
            link._replace(address=proposed[name, link.interface], proposed=True)
            if (name, link.interface) in proposed
            else link
            for link in sorted(each, key=lambda link: (not link.peers, link.interface))
        )
        for name, each in found.items()
    }


def _link(host: HostPorts, port: FabricPort, owner: Mapping[str, End], name: str) -> FoundLink:
    return FoundLink(
        port.interface,
        port.hca,
        lasting_address(port),
        port.mtu,
        None if port.speed_mbit is None else port.speed_mbit / 1000,
        port.twin,
        _peers(host, port, owner, name),
    )


def lasting_address(port: RdmaInterface) -> str | None:
    """Return the address that stays the same: not a link-local one."""
    return next((each for each in port.addresses if not each.startswith(_LINK_LOCAL)), None)


def _peers(host: HostPorts, port: FabricPort, owner: Mapping[str, End], name: str) -> tuple[End, ...] | None:
    if host.neighbours is None or port.interface not in host.neighbours:
        return None
    ends = (owner[mac] for mac in host.neighbours[port.interface] if mac in owner)
    return tuple(sorted(end for end in ends if end[0] != name))


def _proposed(found: Mapping[str, list[FoundLink]]) -> dict[End, str]:
    """Return addresses for links that have none, if their ends are known: one network for each cable or switch."""
    taken = {ip_interface(link.address).network for each in found.values() for link in each if link.address}
    free = (
        number for number in range(_FIRST_NETWORK, 256) if ip_interface(f"192.168.{number}.0/24").network not in taken
    )
    hosts = {name: _FIRST_HOST + index for index, name in enumerate(found)}
    proposed: dict[End, str] = {}
    known = {(name, link.interface): link for name, each in found.items() for link in each}
    without = (ends for ends in _segments(known) if any(known[end].address is None for end in ends))
    for ends, number in zip(without, free, strict=False):
        proposed |= {end: f"192.168.{number}.{hosts[end[0]]}/24" for end in ends}
    return proposed


def _segments(known: Mapping[End, FoundLink]) -> Iterator[tuple[End, ...]]:
    """Return the groups of ends that reach each other, each of at least two."""
    done: set[End] = set()
    for end, link in known.items():
        ends = tuple(sorted({end, *(peer for peer in link.peers or () if peer in known)}))
        if end not in done and len(ends) > 1:
            done |= set(ends)
            yield ends
