"""The addresses of a host: where a port is published, and the high-speed links."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_interface

from sparkiac.model.base import Bind
from sparkiac.model.resolved import ResolvedHost
from sparkiac.resolve.fabric import link_address, links_of, networks_of


def bind_address(host: ResolvedHost, bind: Bind) -> str:
    """Return the address on which a port with this `bind` is published."""
    match bind:
        case "loopback":
            return "127.0.0.1"
        case "lan":
            return host.address
        case "fabric":
            return link_address(host)
        case _:
            return "0.0.0.0"  # noqa: S104  the user wrote `bind: any`


def address_towards(host: ResolvedHost, others: Iterable[ResolvedHost]) -> str:
    """Return the address of a host on its first link in a network that all others share, else its LAN address."""
    shared = set.intersection(*(networks_of(links_of(other)) for other in others))
    own = (ip_interface(link.address) for link in links_of(host))
    return next((str(each.ip) for each in own if each.network in shared), host.address)
