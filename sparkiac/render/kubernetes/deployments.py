"""A Deployment with one pod: a deployment on one host, or a container of a service."""

from __future__ import annotations

from typing import Any, Final

from sparkiac.render.kubernetes import objects, pods
from sparkiac.render.kubernetes.objects import Node
from sparkiac.render.kubernetes.pods import Files

_PULL_S: Final = 600
"""Time for pulling the image, before Kubernetes reports the rollout as failed: its own default for all of it."""


def deployment(node: Node, files: Files) -> dict[str, Any]:
    """Return the Deployment."""
    container = node.container
    spec = {
        "replicas": 1,
        # The former pod must end first: it has the GPU, the memory and the port of the node.
        "strategy": {"type": "Recreate"},
        "progressDeadlineSeconds": container.timeouts.ready_s + _PULL_S,
        "selector": objects.selector(container.name),
        "template": pods.template(node, pods.process(container), files, pods.placement([node.host])),
    }
    return objects.head("apps/v1", "Deployment", container.name, container.name) | {"spec": spec}
