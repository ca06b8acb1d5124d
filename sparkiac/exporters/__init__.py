"""Planned deployments → files of other tools, with notes on what the files do not contain.

Each format has a module with `write(nodes)`. Secrets are referred to by name only, and images stay pinned.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Final, Protocol, cast

from sparkiac.exporters.node import Exported, ExportError, HostContainer
from sparkiac.plan import Plan

__all__ = ["FORMATS", "ExportError", "Exporter", "named", "nodes"]

FORMATS: Final = {
    "docker-run": "docker_run",
    "compose": "compose",
    "eugr": "eugr",
    "sparkrun": "sparkrun",
}
"""Format → its module."""
_WAITING: Final = frozenset({"ray"})
"""Executors that need a sparkiac program inside each container, which other tools do not have."""


class Exporter(Protocol):
    """The interface of a format's module."""

    def write(self, nodes: Sequence[HostContainer]) -> Exported:
        """Write a deployment. Raises ExportError."""


def named(name: str) -> Exporter:
    """Return the exporter of a format."""
    return cast("Exporter", importlib.import_module(f"{__name__}.{FORMATS[name]}"))


def nodes(plan: Plan, name: str) -> tuple[HostContainer, ...]:
    """Return the containers of a deployment with their hosts, the leader of a group first. Raises ExportError."""
    found = [
        HostContainer(host, each)
        for host in plan.hosts
        for each in host.containers
        if (each.kind, each.name) == ("deployment", name)
    ]
    if any(container.server.executor in _WAITING for _, container in found):
        message = f"the nodes of {name} wait for each other with a program that only sparkiac installs"
        raise ExportError(message)
    return tuple(sorted(found, key=lambda node: node.container.server.node or (0, 1)))
