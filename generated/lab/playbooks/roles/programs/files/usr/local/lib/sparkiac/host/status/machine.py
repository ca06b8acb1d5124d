"""Facts about the machine that everybody may read: driver, GPU, firmware, memory, and how long it runs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .. import apt, software
from ..local import LocalHost, number
from ..preflight import machine as preflight_machine
from ..preflight.host import parse_meminfo
from ..software import line

MEMORY = {"total_bytes": "MemTotal", "available_bytes": "MemAvailable", "page_cache_bytes": "Cached"}
GPU = {
    "clock_mhz": "clocks.sm",
    "max_clock_mhz": "clocks.max.sm",
    "temperature_c": "temperature.gpu",
    "power_w": "power.draw",
}
INTERFACES = "/sys/class/net"
NVIDIA_SMI = ("timeout", "10", "nvidia-smi", f"--query-gpu={','.join(GPU.values())}", "--format=csv,noheader,nounits")


def facts(machine: LocalHost, pinned: Collection[str]) -> dict[str, Any]:
    """Return all facts; one that this machine does not have is None. Updates are those of the pinned packages."""
    found = software.read(machine)
    fault, state = gpu(machine) if found["driver"] else (None, None)
    return {
        "driver": found["driver"],
        "driver_fault": fault,
        "gpu": state,
        "kernel": found["kernel"],
        "unpinnable": unpinnable(machine),
        "links": links(machine),
        "firmware": found["firmware"].get("bios"),
        "memory": memory(machine),
        "uptime_s": uptime(machine),
        "software": {
            **found,
            "updates": apt.updates(machine, pinned),
            "moved": [each._asdict() for each in apt.moved(machine)],
        },
    }


def gpu(machine: LocalHost) -> tuple[str | None, dict[str, float | None] | None]:
    """Return why nvidia-smi fails, such as after an upgrade of the driver without a reboot, and the GPU's state."""
    try:
        done = machine.run(*NVIDIA_SMI)
    except OSError as error:
        return str(error), None
    if done.code == 0:
        values = (done.output.strip().splitlines() or [""])[0].split(",")
        return None, dict(zip(GPU, map(number, values), strict=False))
    said = (done.output.strip() or done.errors.strip()).splitlines()
    return said[0] if said else f"nvidia-smi ended with exit status {done.code}", None


def memory(machine: LocalHost) -> dict[str, int] | None:
    """Return the memory of the machine, in bytes."""
    try:
        sizes = parse_meminfo(machine.read("/proc/meminfo"))
        return {name: sizes[key] for name, key in MEMORY.items()}
    except (OSError, ValueError, KeyError):
        return None


def unpinnable(machine: LocalHost) -> str | None:
    """Return how much memory cannot be pinned; None without a sign of it."""
    try:
        return preflight_machine.unpinnable(machine)
    except (OSError, ValueError):
        return None


def links(machine: LocalHost) -> dict[str, str]:
    """Return the network interfaces and their operational state, such as `up` or `down`."""
    found = sorted(machine.path(INTERFACES).glob("*"))
    return {each.name: line(machine, f"{INTERFACES}/{each.name}/operstate") or "unknown" for each in found}


def uptime(machine: LocalHost) -> int | None:
    """Return the seconds since the boot."""
    found = line(machine, "/proc/uptime")
    return int(float(found.split()[0])) if found else None
