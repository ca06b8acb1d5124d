"""Print the high-speed network ports of this machine as JSON.

Nothing is changed. With the argument `neighbours`, each port that is up sends two pings to the IPv6 multicast address
of all nodes, so that the kernel learns who is at the other end of the cable. LLDP frames that systemd-networkd or lldpd
received tell the same without an answer.
"""

from __future__ import annotations

import json
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from ..preflight.fabric import DEVICES, gids, text
from ..preflight.host import LocalHost, gpus, parse_meminfo

NET = "/sys/class/net"
ALL_NODES = "ff02::1"
LLDP = "/run/systemd/netif/lldp"
LENGTH, ADDRESSES = 8, 12
"""Bytes of the length before each frame in a file of LLDP, and of the frame's two MAC addresses."""
TOOLS = ("ping", "iperf3", "ib_write_bw", "mpirun", "all_reduce_perf")


def number(host: LocalHost, name: str) -> int | None:
    """Return a number in sysfs; None if there is none, such as the speed of a port that is down."""
    found = text(host, name)
    return int(found) if found is not None and found.isdigit() else None


def ports(host: LocalHost, named: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return the network interfaces that have an RDMA device, with their other halves, and those that are named.

    A port of a DGX Spark is two PCIe devices: they have the same address in two PCI domains.
    """
    rdma = {each.name: each.parts[-4] for each in host.path(DEVICES).glob("*/device/net/*")}
    plain = {name: None for name in named if host.path(f"{NET}/{name}").exists()}
    found = sorted({**plain, **rdma}.items())
    held = addresses(host) if found else {}
    read = [port(host, interface, device, held.get(interface, [])) for interface, device in found]
    read.sort(key=lambda each: str(each["slot"]))
    halves: dict[str, list[dict[str, Any]]] = {}
    for each in read:
        halves.setdefault((each["slot"] or each["interface"]).partition(":")[2] or each["interface"], []).append(each)
    return [{**pair[0], "twin": pair[1] if len(pair) > 1 else None} for pair in halves.values()]


def port(host: LocalHost, interface: str, device: str | None, held: list[str]) -> dict[str, Any]:
    """Return the facts of one port, or of one half."""
    slot = host.path(f"{NET}/{interface}/device")
    return {
        "interface": interface,
        "hca": device,
        "slot": slot.resolve().name if slot.exists() else None,
        "mac": text(host, f"{NET}/{interface}/address"),
        "up": text(host, f"{NET}/{interface}/operstate") == "up",
        "mtu": number(host, f"{NET}/{interface}/mtu"),
        "speed_mbit": number(host, f"{NET}/{interface}/speed"),
        "firmware": text(host, f"{DEVICES}/{device}/fw_ver") if device else None,
        "addresses": held,
        "gids": {str(index): gid for index, gid in gids(host, device)} if device else {},
    }


def addresses(host: LocalHost) -> dict[str, list[str]]:
    """Return the IPv4 addresses of each interface, with prefix length."""
    return {
        each["ifname"]: [f"{one['local']}/{one['prefixlen']}" for one in each["addr_info"] if one["family"] == "inet"]
        for each in json.loads(host.run("ip", "-json", "address"))
    }


def neighbours(host: LocalHost, names: list[str]) -> dict[str, list[str]]:
    """Return the MAC addresses that each of these interfaces reaches without a router."""
    found, announced = {}, of_lldpd(host)
    for name in names:
        with suppress(OSError, RuntimeError):  # nobody answered; the table may still know a neighbour
            host.run("ping", "-6", "-c", "2", "-w", "3", f"{ALL_NODES}%{name}")
        table = json.loads(host.run("ip", "-json", "-6", "neighbour", "show", "dev", name) or "[]")
        heard = {each["lladdr"] for each in table if "lladdr" in each}
        found[name] = sorted({*heard, *of_networkd(host, name), *announced.get(name, ())})
    return found


def of_networkd(host: LocalHost, name: str) -> Iterator[str]:
    """Return the senders of the LLDP frames that systemd-networkd received on an interface."""
    try:
        left = host.path(f"{LLDP}/{text(host, f'{NET}/{name}/ifindex')}").read_bytes()
    except OSError:
        return
    while len(left) >= LENGTH + ADDRESSES:
        size = int.from_bytes(left[:LENGTH], "little")
        frame, left = left[LENGTH : LENGTH + size], left[LENGTH + size :]
        yield ":".join(f"{byte:02x}" for byte in frame[ADDRESSES // 2 : ADDRESSES])


def of_lldpd(host: LocalHost) -> dict[str, list[str]]:
    """Return interface and ports that lldpd knows by their MAC addresses; empty without lldpd, or without its group."""
    found: dict[str, list[str]] = {}
    with suppress(OSError, RuntimeError, ValueError, LookupError, TypeError):
        told = json.loads(host.run("lldpcli", "-f", "json0", "show", "neighbors"))
        for interface in told["lldp"][0].get("interface", ()):
            idents = [ident for port in interface["port"] for ident in port["id"] if ident["type"] == "mac"]
            found.setdefault(interface["name"], []).extend(ident["value"].lower() for ident in idents)
    return found


def memlock() -> int:
    """Return the limit on locked memory in bytes; -1 without a limit."""
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    return -1 if limit == resource.RLIM_INFINITY else limit


def memory_bytes(host: LocalHost) -> int:
    """Return MemTotal in bytes."""
    return parse_meminfo(host.read("/proc/meminfo"))["MemTotal"]


def answered(probes: dict[str, Callable[[], Any]], found: dict[str, Any]) -> dict[str, Any]:
    """Add the answer of each probe to `found`, null if there is none; return it with the reasons for those."""
    unknown = {}
    for key, probe in probes.items():
        try:
            found[key] = probe()
        except Exception as error:  # noqa: BLE001 - one failed probe must not stop the others
            found[key], unknown[key] = None, str(error) or type(error).__name__
    return {**found, "unknown": unknown}


def facts(host: LocalHost, named: tuple[str, ...] = (), *, ask: bool = False) -> dict[str, Any]:
    """Return all facts; one that cannot be read is null, and `unknown` gives the reason."""
    found: dict[str, Any] = {"neighbours": {}}
    probes: dict[str, Callable[[], Any]] = {
        "ports": lambda: ports(host, named),
        "driver": lambda: gpus(host)[0][2],
        "memory_bytes": lambda: memory_bytes(host),
        "memlock_bytes": memlock,
        "tools": lambda: [each for each in TOOLS if shutil.which(each)],
    }
    if ask:
        probes["neighbours"] = lambda: neighbours(host, [each["interface"] for each in found["ports"] if each["up"]])
    return answered(probes, found)


def main(argv: list[str]) -> int:
    """Print the facts; arguments are `neighbours`, and the names of further interfaces to read."""
    print(json.dumps(facts(LocalHost(), tuple(argv), ask="neighbours" in argv)))  # noqa: T201
    return 0
