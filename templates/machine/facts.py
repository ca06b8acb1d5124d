# ruff: noqa: INP001  one of the modules of a program that is sent over SSH
"""Print facts about this machine as JSON, without changing anything.

Needs Python 3.8 or newer, ports.py and preflight_host.py.

A fact that cannot be read is null; `unknown` gives the reason.
"""

from __future__ import annotations

import json
import os
from typing import Any, Callable  # noqa: UP035 - Python 3.8

import ports
from preflight_host import LocalHost  # noqa: TC002 - the program that is sent takes it from here


def name(host: LocalHost) -> str:
    """Return the host name without its domain."""
    return host.read("/proc/sys/kernel/hostname").strip().partition(".")[0]


def disks(host: LocalHost, paths: list[str]) -> list[dict[str, Any]]:
    """Return the free space on the file system of each directory; a directory need not exist yet."""
    found = []
    for path in paths:
        place = host.path(path)
        status = os.statvfs(str(next(each for each in (place, *place.parents) if each.exists())))
        found.append({"path": path, "free_bytes": status.f_bavail * status.f_frsize})
    return found


def facts(host: LocalHost, paths: list[str]) -> dict[str, Any]:
    """Return all facts."""
    probes: dict[str, Callable[[], Any]] = {
        "name": lambda: name(host),
        "architecture": lambda: host.machine,
        "memory_bytes": lambda: ports.memory_bytes(host),
        "gpus": lambda: ports.gpus(host),
        "disks": lambda: disks(host, paths),
    }
    found: dict[str, Any] = {}
    unknown = ports.answered(probes, found)
    return {**found, "unknown": unknown}


def main(argv: list[str], host: LocalHost) -> int:
    """Print the facts; the arguments are directories whose free space is reported."""
    print(json.dumps(facts(host, argv)))  # noqa: T201
    return 0
