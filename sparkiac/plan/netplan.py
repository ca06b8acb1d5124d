"""The settings of a host's links for netplan."""

from __future__ import annotations

from typing import Any

from sparkiac.model.inventory import FabricLink, Twin
from sparkiac.model.resolved import ResolvedHost
from sparkiac.resolve.fabric import links_of


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
