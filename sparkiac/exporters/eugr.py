"""A recipe of eugr/spark-vllm-docker, version 1. What its keys mean is said in `sparkiac/importers/eugr.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac.exporters import node, recipe
from sparkiac.exporters.node import Exported, Unsayable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.exporters.node import Node

_BOX: Final = "its launcher starts the container its own way: privileged, on the host's network and IPC namespace"


def write(nodes: Sequence[Node]) -> Exported:
    """Write a deployment. Raises Unsayable: its launcher runs vLLM alone."""
    first = nodes[0].container
    if first.server.engine != "vllm":
        message = f"eugr's launcher runs vLLM, and {first.name} is served by {first.server.engine}"
        raise Unsayable(message)
    found = recipe.of(nodes, doubled=True)
    model = first.server.model or ""
    notes = [*found.notes, *recipe.fetched(first, first.weights.commits), _BOX]
    data: dict[str, Any] = {
        "recipe_version": "1",
        "name": first.name,
        "description": first.description,
        "model": model,
        "container": node.image(first),
        "cluster_only" if found.nodes > 1 else "solo_only": True,
        "defaults": found.defaults,
        "env": found.env,
    }
    return Exported(recipe.text(notes, node.lines(first), data, found.command), tuple(notes))
