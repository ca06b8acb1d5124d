"""Print facts about this machine as JSON, without changing anything.

A fact that cannot be read is null; `unknown` gives the reason.
"""

from __future__ import annotations

import json
import pwd
from collections.abc import Callable
from typing import Any

from .. import apt, software
from ..local import free_bytes
from ..preflight.host import LocalHost, gpus
from . import ports

FIRST_PERSON, NOBODY = 1000, 65_534
"""Between these numbers lie the accounts of persons."""


def name(host: LocalHost) -> str:
    """Return the host name without its domain."""
    return host.read("/proc/sys/kernel/hostname").strip().partition(".")[0]


def disks(host: LocalHost, paths: list[str]) -> list[dict[str, Any]]:
    """Return the free space on the file system of each directory; a directory need not exist yet."""
    return [{"path": path, "free_bytes": free_bytes(host.path(path))} for path in paths]


def users() -> list[tuple[str, str]]:
    """Return the login and the full name of each person with an account."""
    accounts = (each for each in pwd.getpwall() if FIRST_PERSON <= each.pw_uid < NOBODY)
    return [(each.pw_name, each.pw_gecos.partition(",")[0]) for each in accounts]


def with_updates(host: LocalHost) -> dict[str, Any]:
    """Return the software that belongs together, and newer versions of its packages."""
    found = software.read(host)
    return {**found, "updates": apt.updates(host, found["packages"])}


def facts(host: LocalHost, paths: list[str]) -> dict[str, Any]:
    """Return all facts."""
    probes: dict[str, Callable[[], Any]] = {
        "name": lambda: name(host),
        "architecture": lambda: host.machine,
        "memory_bytes": lambda: ports.memory_bytes(host),
        "gpus": lambda: gpus(host),
        "disks": lambda: disks(host, paths),
        "software": lambda: with_updates(host),
        "users": users,
    }
    return ports.answered(probes, {})


def main(argv: list[str]) -> int:
    """Print the facts; the arguments are directories whose free space is reported."""
    print(json.dumps(facts(LocalHost(), argv)))  # noqa: T201
    return 0
