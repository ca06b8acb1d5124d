"""The URL at which one service reaches another. It depends on where both run and where the other one listens.

Source: Spark guide L606-619. In order of preference:

- two containers on one host share a Docker network, where the host name is the name of the container;
- a container reaches a program on its host at the address that it listens on, or through the gateway of the host;
- a program reaches services on its host at the address that they listen on, or on loopback;
- a service on another host is reached at the address on which its port is published.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_interface
from typing import Final, NamedTuple

from sparkiac.model.base import Bind
from sparkiac.model.resolved import ResolvedHost
from sparkiac.resolve.fabric import link_address, links_of, networks_of

NETWORK: Final = "sparkiac"
"""Docker network for containers on one host that use each other."""
GATEWAY: Final = "host.docker.internal"
"""Name of the host in a container that has GATEWAY_ENTRY in its /etc/hosts."""
GATEWAY_ENTRY: Final = f"{GATEWAY}:host-gateway"
LOOPBACK: Final = "127.0.0.1"
EVERY: Final = "0.0.0.0"  # noqa: S104  compared, not bound


class ListenAddress(NamedTuple):
    """Where a deployment or service listens."""

    name: str
    host: str
    address: str
    """Address of its host on which it listens."""
    port: int
    container_port: int | None
    """Port in its container; None for a program and for a container with host networking."""


class Route(NamedTuple):
    """How to reach an endpoint."""

    origin: str | None
    """http://host:port; None if the endpoint cannot be reached."""
    network: bool = False
    """Whether both containers must share a Docker network."""
    gateway: bool = False
    """Whether the container reaches the host through its gateway."""
    obstacle: str | None = None
    """Why the endpoint cannot be reached: `loopback` or `fabric`."""


def route(host: str, target: ListenAddress, hosts: Mapping[str, ResolvedHost], *, in_container: bool) -> Route:
    """Return how a container or program on `host` reaches an endpoint."""
    if host != target.host:
        return _to_other_host(host, target, hosts)
    if not in_container:
        return Route(f"http://{locally(target.address)}:{target.port}")
    if target.container_port is not None:
        return _at(target.name, target.container_port)._replace(network=True)
    if target.address == LOOPBACK:
        return Route(None, obstacle="loopback")
    if target.address == EVERY:
        return _at(GATEWAY, target.port)._replace(gateway=True)
    return _at(target.address, target.port)


def _to_other_host(host: str, target: ListenAddress, hosts: Mapping[str, ResolvedHost]) -> Route:
    there = hosts[target.host]
    if target.address == LOOPBACK:
        return Route(None, obstacle="loopback")
    if target.address in {EVERY, there.address}:
        return _at(there.address, target.port)
    on_fabric = there.fabric is not None and target.address == link_address(there)
    if on_fabric and hosts[host].fabric is None:
        return Route(None, obstacle="fabric")
    return _at(target.address, target.port)


def locally(address: str) -> str:
    """Return where a program on the same host reaches a port that listens on `address`, as a URL has it."""
    if address == EVERY:
        return LOOPBACK
    return _in_url(address)


def _at(host: str, port: int) -> Route:
    return Route(f"http://{_in_url(host)}:{port}")


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def bind_address(host: ResolvedHost, bind: Bind) -> str:
    """Return the address on which a port with this `bind` is published."""
    match bind:
        case "loopback":
            return LOOPBACK
        case "lan":
            return host.address
        case "fabric":
            return link_address(host)
        case _:
            return EVERY


def address_towards(host: ResolvedHost, others: Iterable[ResolvedHost]) -> str:
    """Return the address of a host on its first link in a network that all others share, else its LAN address."""
    shared = set.intersection(*(networks_of(links_of(other)) for other in others))
    own = (ip_interface(link.address) for link in links_of(host))
    return next((str(each.ip) for each in own if each.network in shared), host.address)
