"""By which URL one service reaches another one: it follows from where both run and where the other one listens.

Source: Spark guide L606-619. The rules, from the most robust way down:

- two containers of one host share a network, and one is the other's name;
- a container reaches a program of its host at the address that it listens on, or through the host's gateway;
- a program reaches what is on its host at that address, or on loopback;
- another host is reached at the address that the port is published on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.plan.addresses import fabric_address

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.model.resolved import ResolvedHost

NETWORK: Final = "sparkiac"
"""Docker network of a host that containers which ask each other share."""
GATEWAY: Final = "host.docker.internal"
"""Name of the host inside a container, once it is given one."""
GATEWAY_ENTRY: Final = f"{GATEWAY}:host-gateway"
_LOOPBACK: Final = "127.0.0.1"
_EVERY: Final = "0.0.0.0"  # noqa: S104  compared, not bound


class Endpoint(NamedTuple):
    """Something that can be asked."""

    name: str
    host: str
    address: str
    """Address of its host that it listens on."""
    port: int
    container_port: int | None
    """Port inside its container; None for a program, and for a container on the host's own network."""


class Route(NamedTuple):
    """The way to an endpoint."""

    origin: str | None
    """http://host:port; None where there is no way."""
    network: bool = False
    gateway: bool = False
    obstacle: str | None = None


def route(host: str, target: Endpoint, hosts: Mapping[str, ResolvedHost], *, in_container: bool) -> Route:
    """Find the way from a container or program on `host` to an endpoint."""
    if host != target.host:
        return _abroad(host, target, hosts)
    if not in_container:
        return _at(_LOOPBACK if target.address == _EVERY else target.address, target.port)
    if target.container_port is not None:
        return _at(target.name, target.container_port)._replace(network=True)
    if target.address == _LOOPBACK:
        return Route(None, obstacle="loopback")
    if target.address == _EVERY:
        return _at(GATEWAY, target.port)._replace(gateway=True)
    return _at(target.address, target.port)


def _abroad(host: str, target: Endpoint, hosts: Mapping[str, ResolvedHost]) -> Route:
    there = hosts[target.host]
    if target.address == _LOOPBACK:
        return Route(None, obstacle="loopback")
    if target.address in {_EVERY, there.address}:
        return _at(there.address, target.port)
    on_fabric = there.fabric is not None and target.address == fabric_address(there)
    if on_fabric and hosts[host].fabric is None:
        return Route(None, obstacle="fabric")
    return _at(target.address, target.port)


def _at(host: str, port: int) -> Route:
    return Route(f"http://{host}:{port}")
