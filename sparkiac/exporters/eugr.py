"""A recipe of eugr/spark-vllm-docker, version 1; `sparkiac/importers/eugr.py` describes the format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sparkiac import engines
from sparkiac.exporters import node, recipe
from sparkiac.exporters.node import Exported, ExportError, HostContainer

_CONTAINER: Final = "its launcher starts the container privileged, in the host's network and IPC namespace"


def write(nodes: Sequence[HostContainer]) -> Exported:
    """Write a deployment. Raises ExportError for any engine but vLLM."""
    first = nodes[0].container
    if not engines.named(first.server.engine).interfaces:
        message = f"eugr's launcher only runs vLLM; the engine of {first.name} is {first.server.engine}"
        raise ExportError(message)
    found = recipe.build(nodes, "eugr", doubled=True)
    model = first.server.model or ""
    notes = [*found.notes, *recipe.fetched(first, first.weights.commits), _CONTAINER]
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
    return Exported(recipe.text(notes, node.heading(first), data, found.command), tuple(notes))
