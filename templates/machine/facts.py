# ruff: noqa: INP001  a part of a program that travels over ssh
"""Say what a machine is, as JSON. Reads, changes nothing. Python 3.8 or newer, and the reader that preflight has.

What cannot be read is null, and why stands under `unknown`.
"""

from __future__ import annotations

import json
import os
from typing import Any, Callable  # noqa: UP035 - Python 3.8

from preflight_host import Host, parse_gpus, parse_meminfo

RDMA = "/sys/class/infiniband"


def name(host: Host) -> str:
    """Give the host's own name, without its domain."""
    return host.read("/proc/sys/kernel/hostname").strip().partition(".")[0]


def memory_bytes(host: Host) -> int:
    """Give the memory that the kernel has."""
    return parse_meminfo(host.read("/proc/meminfo"))["MemTotal"]


def gpus(host: Host) -> list[list[str]]:
    """Give name, compute capability and driver of each GPU."""
    return parse_gpus(host.run("nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader"))


def links(host: Host) -> list[dict[str, str]]:
    """Give the interfaces with an RDMA device that are up and have an address: those of fast links."""
    devices = {}
    for path in sorted(host.path(RDMA).glob("*/device/net/*")):
        devices[path.name] = path.parts[-4]
    addresses = parse_addresses(host.run("ip", "-json", "-4", "address", "show", "up")) if devices else {}
    return [
        {"interface": interface, "hca": device, "address": addresses[interface]}
        for interface, device in sorted(devices.items())
        if interface in addresses
    ]


def parse_addresses(text: str) -> dict[str, str]:
    """Read the first address of each interface, with the length of its prefix, that `ip -json address` names."""
    found = {}
    for interface in json.loads(text):
        for entry in interface.get("addr_info", []):
            if entry.get("family") == "inet":
                found.setdefault(interface["ifname"], f"{entry['local']}/{entry['prefixlen']}")
    return found


def disks(host: Host, paths: list[str]) -> list[dict[str, Any]]:
    """Give the free space where each directory is or will be."""
    found = []
    for path in paths:
        place = host.path(path)
        status = os.statvfs(str(next(each for each in (place, *place.parents) if each.exists())))
        found.append({"path": path, "free_bytes": status.f_bavail * status.f_frsize})
    return found


def facts(host: Host, paths: list[str]) -> dict[str, Any]:
    """Give everything."""
    probes: dict[str, Callable[[], Any]] = {
        "name": lambda: name(host),
        "architecture": lambda: host.machine,
        "memory_bytes": lambda: memory_bytes(host),
        "gpus": lambda: gpus(host),
        "links": lambda: links(host),
        "disks": lambda: disks(host, paths),
    }
    found: dict[str, Any] = {}
    unknown: dict[str, str] = {}
    for key, probe in probes.items():
        try:
            found[key] = probe()
        except Exception as error:  # noqa: BLE001 - whatever it is, the other probes go on
            found[key], unknown[key] = None, str(error) or type(error).__name__
    return {**found, "unknown": unknown}


def main(argv: list[str], host: Host) -> int:
    """Print the facts; the arguments are directories whose disks are asked for."""
    print(json.dumps(facts(host, argv)))  # noqa: T201
    return 0
