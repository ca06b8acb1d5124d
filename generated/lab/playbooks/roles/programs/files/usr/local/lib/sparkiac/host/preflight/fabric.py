"""Check the high-speed links, and look up what only the host knows about them: GID indexes and interface names."""

from __future__ import annotations

import json
import socket
from collections.abc import Generator, Iterator
from ipaddress import IPv6Address, ip_address
from typing import Any

from .. import durable
from .host import Check, CheckResult, LocalHost, compare

DEVICES = "/sys/class/infiniband"
PORT = "ports/1"
KIND = "RoCE v2"
VARIABLES = "/run/sparkiac/fabric"
"""Directory with a file of environment variables for each unit; its compose file reads it."""


def check_link(wanted: dict[str, Any], host: LocalHost) -> Iterator[CheckResult]:
    """Check the interface of a high-speed link: that it exists, is up, and has its address and MTU."""
    name = wanted["interface"]
    found = text(host, f"/sys/class/net/{name}/operstate")
    if found is None:
        known = ", ".join(sorted(each.name for each in host.path("/sys/class/net").iterdir()))
        yield compare(False, f"link {name}", f"no such interface; this host has {known}", "an interface")  # noqa: FBT003
        return
    yield compare(found == "up", f"link {name}", found, "up", "check the cable, and that the other host is on")
    entries = json.loads(host.run("ip", "-json", "address", "show", "dev", name))[0]["addr_info"]
    held = [f"{entry['local']}/{entry['prefixlen']}" for entry in entries]
    yield compare(wanted["address"] in held, f"address of {name}", ", ".join(held) or "none", wanted["address"])
    if wanted["mtu"] is not None:
        mtu = int(host.read(f"/sys/class/net/{name}/mtu"))
        yield compare(mtu == wanted["mtu"], f"MTU of {name}", str(mtu), str(wanted["mtu"]))
    if wanted["speed_gbit"] is not None:
        speed = int(host.read(f"/sys/class/net/{name}/speed")) / 1000
        least = f"{wanted['speed_gbit']:g} Gbit/s"
        yield compare(speed >= wanted["speed_gbit"], f"speed of {name}", f"{speed:g} Gbit/s", least)


def check_fabric(unit: str, wanted: dict[str, Any], host: LocalHost) -> Iterator[CheckResult]:
    """Look up the GID index and the interface of the sockets, and write them as variables for the unit."""
    lines = yield from check_rdma(wanted["rdma"], host)
    if wanted["sockets"] is not None:
        found = interface_with(wanted["sockets"], host)
        yield compare(found is not None, "interface of the host", found or "none", f"with {wanted['sockets']}")
        lines += f"NCCL_SOCKET_IFNAME={found}\nGLOO_SOCKET_IFNAME={found}\n" if found else ""
    durable.write(host.path(f"{VARIABLES}/{unit}.env"), lines.encode("ascii"), 0o644)  # the user of the unit reads it


def check_rdma(links: list[dict[str, Any]], host: LocalHost) -> Generator[CheckResult, None, str]:
    """Check the device of each link; return the variable of the GID index if it is the same for all devices.

    Otherwise NCCL (2.21 or newer) finds the GID of each device itself. That happens if a twin has no IP address.
    """
    found = []
    for link in links:
        state = interface_of(link["device"], host)
        yield compare(state == link["interface"], "RDMA device", f"{link['device']} on {state}", link["interface"])
        index = None if link["address"] is None else gid_index(link, host)
        if link["address"] is not None:
            said = "none" if index is None else f"index {index}"
            yield compare(index is not None, f"GID of {link['device']}", said, f"{KIND} for {link['address']}")
        found.append(index)
    same = len(set(found)) == 1 and found[0] is not None
    return f"NCCL_IB_GID_INDEX={found[0]}\n" if same else ""


def interface_with(address: str, host: LocalHost) -> str | None:
    """Return the network interface that has an address; a name is resolved first."""
    wanted = socket.getaddrinfo(address, None)[0][4][0]
    for each in json.loads(host.run("ip", "-json", "address")):
        if any(entry.get("local") == wanted for entry in each["addr_info"]):
            return str(each["ifname"])
    return None


def interface_of(device: str, host: LocalHost) -> str:
    """Return the network interface of an RDMA device, as `ibdev2netdev` does."""
    base = host.path(f"{DEVICES}/{device}")
    if not base.exists():
        known = ", ".join(sorted(each.name for each in base.parent.iterdir())) if base.parent.exists() else ""
        return f"no interface; this host has {known or 'no RDMA device'}"
    entries = f"{DEVICES}/{device}/{PORT}/gid_attrs/ndevs"
    names = {text(host, f"{entries}/{each.name}") for each in host.path(entries).iterdir()}
    return ", ".join(sorted(name for name in names if name)) or "no interface"


def gid_index(link: dict[str, Any], host: LocalHost) -> int | None:
    """Return the index of the RoCE v2 GID with the address of the link."""
    wanted = as_gid(link["address"])
    return next((index for index, gid in gids(host, link["device"]) if IPv6Address(gid) == wanted), None)


def gids(host: LocalHost, device: str) -> Iterator[tuple[int, str]]:
    """Return the RoCE v2 entries of the GID table of a device: index and GID."""
    base = f"{DEVICES}/{device}/{PORT}"
    for index in sorted(int(each.name) for each in host.path(f"{base}/gids").glob("*")):
        gid = text(host, f"{base}/gids/{index}")
        if gid is not None and text(host, f"{base}/gid_attrs/types/{index}") == KIND:
            yield index, gid


def as_gid(address: str) -> IPv6Address:
    """Return an IP address as a GID: IPv4 as ::ffff:a.b.c.d."""
    found = ip_address(address)
    return found if isinstance(found, IPv6Address) else IPv6Address(f"::ffff:{found}")


def text(host: LocalHost, name: str) -> str | None:
    """Return the text of a file in sysfs; None if it is missing or, as an unused entry of the GID table, unreadable."""
    try:
        return host.read(name).strip() or None
    except OSError:
        return None


CHECKS = {"links": Check(check_link, "correct fabric.links of the host in the inventory, or the network of the host")}
