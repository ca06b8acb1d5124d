"""Print facts about this machine as JSON, without changing anything.

A fact that cannot be read is null; `unknown` gives the reason.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from ..preflight.host import LocalHost
from . import ports


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


def main(argv: list[str]) -> int:
    """Print the facts; the arguments are directories whose free space is reported."""
    print(json.dumps(facts(LocalHost(), argv)))  # noqa: T201
    return 0
