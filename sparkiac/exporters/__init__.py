"""A deployment of the plan → the text of another tool, for those who leave sparkiac, with notes on what is not said.

One module for each format, with `write(nodes)`. A secret is only ever named, a pinned image stays pinned.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final, Protocol, cast

from sparkiac.exporters.node import Node, Unsayable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.exporters.node import Exported
    from sparkiac.plan import Plan

__all__ = ["FORMATS", "Exporter", "Unsayable", "named", "nodes"]

FORMATS: Final = {
    "docker-run": "docker_run",
    "compose": "compose",
    "eugr": "eugr",
    "sparkrun": "sparkrun",
}
"""Format → its module."""


class Exporter(Protocol):
    """What a format's module has."""

    def write(self, nodes: Sequence[Node]) -> Exported:
        """Write a deployment. Raises Unsayable."""


def named(name: str) -> Exporter:
    """Give the exporter of a format."""
    return cast("Exporter", importlib.import_module(f"{__name__}.{FORMATS[name]}"))


def nodes(plan: Plan, name: str) -> tuple[Node, ...]:
    """Give the containers of a deployment with their hosts, the leader of a group first."""
    found = (
        Node(host, each)
        for host in plan.hosts
        for each in host.containers
        if (each.kind, each.name) == ("deployment", name)
    )
    return tuple(sorted(found, key=lambda node: node.container.server.node or (0, 1)))
