"""Compare the links of a plan with what the hosts report, and with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv6Address, ip_interface
from typing import Final, NamedTuple

from sparkiac.fleet.machine import HostPorts, RdmaInterface
from sparkiac.model.inventory import FabricLink, Twin
from sparkiac.plan import HostPlan, Plan

_GIB: Final = 1 << 30
_SAME_MEMORY: Final = 0.01
"""Share by which the memory of equal machines may differ: the firmware keeps a little for itself."""


class LinkCheck(NamedTuple):
    """One check with its evidence."""

    host: str
    name: str
    passed: bool | None
    """None if it could not be checked."""
    found: str
    expected: str = ""


def of_host(host: HostPlan, read: HostPorts) -> Iterator[LinkCheck]:
    """Check each link of a host, and the limit on locked memory."""
    known = read.interfaces
    for link in host.links:
        yield from _link(host.name, link, known)
        if link.twin is not None:
            yield from _end(host.name, link.twin, known)
    yield _memlock(host, read)


def _link(host: str, link: FabricLink, known: Mapping[str, RdmaInterface]) -> Iterator[LinkCheck]:
    yield from _end(host, link, known)
    port = known.get(link.interface)
    if port is None:
        return
    name = link.interface
    if link.mtu is not None:
        yield LinkCheck(host, f"MTU of {name}", port.mtu == link.mtu, str(port.mtu), str(link.mtu))
    if link.speed_gbit is not None:
        speed = None if port.speed_mbit is None else port.speed_mbit / 1000
        evidence = "unknown" if speed is None else f"{speed:g} Gbit/s"
        passed = None if speed is None else speed >= link.speed_gbit
        yield LinkCheck(host, f"speed of {name}", passed, evidence, f"{link.speed_gbit:g} Gbit/s")


def _end(host: str, end: FabricLink | Twin, known: Mapping[str, RdmaInterface]) -> Iterator[LinkCheck]:
    """Check the interface, address, RDMA device and GID at one end of a link."""
    port = known.get(end.interface)
    if port is None:
        yield LinkCheck(host, f"link {end.interface}", False, f"this host has {', '.join(sorted(known)) or 'none'}")  # noqa: FBT003
        return
    yield LinkCheck(host, f"link {end.interface}", port.up, "up" if port.up else "down", "up")
    if end.address is not None:
        held = ", ".join(port.addresses) or "none"
        yield LinkCheck(host, f"address of {end.interface}", end.address in port.addresses, held, end.address)
    if end.hca is not None:
        yield LinkCheck(host, f"RDMA device of {end.interface}", port.hca == end.hca, port.hca or "none", end.hca)
    if end.hca is not None and end.address is not None:
        index = gid_index(port, end.address)
        evidence = "none" if index is None else f"index {index}"
        yield LinkCheck(host, f"GID of {end.hca}", index is not None, evidence, f"RoCE v2 for {end.address}")


def gid_index(port: RdmaInterface, address: str) -> str | None:
    """Return the GID index of an address for RoCE v2."""
    ip = ip_interface(address).ip
    wanted = ip if isinstance(ip, IPv6Address) else IPv6Address(f"::ffff:{ip}")
    return next((index for index, gid in port.gids.items() if IPv6Address(gid) == wanted), None)


def _memlock(host: HostPlan, read: HostPorts) -> LinkCheck:
    """Report the limit of a login, under which ib_write_bw runs; the containers of groups have a limit of their own."""
    if read.memlock_bytes is None:
        return LinkCheck(
            host.name, "locked memory", None, f"unknown: {read.unknown.get('memlock_bytes', '')}", "unlimited"
        )
    if read.memlock_bytes == -1:
        return LinkCheck(host.name, "locked memory", True, "unlimited", "unlimited")  # noqa: FBT003
    evidence = f"{read.memlock_bytes // 1024} KiB for a login; the containers of groups have no limit"
    return LinkCheck(host.name, "locked memory", None, evidence, "unlimited")


def of_groups(plan: Plan, read: Mapping[str, HostPorts]) -> Iterator[LinkCheck]:
    """Check that the hosts of each group are alike: driver, firmware and memory."""
    for group, hosts in groups(plan).items():
        found = {host.name: read.get(host.name) for host in hosts}
        yield _same(group, "driver", {name: each.driver if each else None for name, each in found.items()})
        yield _same(group, "firmware", {name: _firmware(each) if each else None for name, each in found.items()})
        yield _memory(group, hosts, {name: each.memory_bytes if each else None for name, each in found.items()})


def groups(plan: Plan) -> dict[str, list[HostPlan]]:
    """Return the hosts of each group."""
    found: dict[str, list[HostPlan]] = {}
    for host in plan.hosts:
        for container in host.containers:
            if container.server.node is not None:
                found.setdefault(container.name, []).append(host)
    return found


def _firmware(read: HostPorts) -> str | None:
    return ", ".join(sorted({port.firmware for port in read.ports or () if port.firmware})) or None


def _same(group: str, what: str, values: Mapping[str, str | None]) -> LinkCheck:
    evidence = ", ".join(f"{name} {value or 'unknown'}" for name, value in values.items())
    known = None if None in values.values() else len(set(values.values())) == 1
    return LinkCheck(group, f"same {what}", known, evidence, "the same on all hosts")


def _memory(group: str, hosts: list[HostPlan], values: Mapping[str, int | None]) -> LinkCheck:
    """Compare the memory of the hosts; the plan may state that they differ."""
    evidence = ", ".join(
        f"{name} {size / _GIB:.1f} GiB" if size else f"{name} unknown" for name, size in values.items()
    )
    expected = "equal, or as memory.total_gib of each host states"
    known = [size for size in values.values() if size is not None]
    if len(known) < len(hosts):
        return LinkCheck(group, "memory", None, evidence, expected)
    equal = max(known) - min(known) <= _SAME_MEMORY * max(known)
    stated = all(
        host.memory_bytes is not None and abs(host.memory_bytes - size) <= _SAME_MEMORY * host.memory_bytes
        for host, size in zip(hosts, known, strict=True)
    )
    return LinkCheck(group, "memory", equal or stated, evidence, expected)
