"""Render etc/sparkiac/NAME/group.json: how a node of a group finds the others, and the version that all must start."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from sparkiac.host.generation import GroupNode
from sparkiac.plan import Container, Plan
from sparkiac.plan.container import GroupLink
from sparkiac.render import compose, jsontext


def versions(plan: Plan) -> dict[str, str]:
    """Return deployment → hash of what all nodes of its group run: image, command, environment, files and weights."""
    hashes = {name: hashlib.sha256() for name, _ in _nodes(plan)}
    for name, content in _nodes(plan):
        hashes[name].update(content)
    return {name: found.hexdigest()[:16] for name, found in hashes.items()}


def _nodes(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Yield the deployment and the content of each node of a group, sorted by host."""
    for host, container in plan.containers:
        if container.network.link is not None:
            yield container.name, compose.project(container)
            yield container.name, jsontext.dump(host.preflight.units[container.name].weights)


def path(container: Container) -> str:
    """Return the path of the file on the host."""
    return f"etc/sparkiac/{container.name}/group.json"


def node(link: GroupLink, *, host: str, version: str) -> GroupNode:
    """Return the content of the file of one host."""
    return GroupNode(host, link.leader, link.address, link.port, link.workers, version)
