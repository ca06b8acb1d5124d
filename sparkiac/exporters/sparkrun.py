"""A recipe of sparkrun, version 2; `sparkiac/importers/sparkrun.py` describes the format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkiac import engines
from sparkiac.exporters import node, recipe
from sparkiac.exporters.node import Exported, ExportError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.exporters.node import HostContainer


def write(nodes: Sequence[HostContainer]) -> Exported:
    """Write a deployment. Raises ExportError."""
    first = nodes[0].container
    runtimes = engines.named(first.server.engine).sparkrun
    if not runtimes:
        message = f"sparkrun has no runtime for {first.server.engine}"
        raise ExportError(message)
    found = recipe.build(nodes, doubled=False)
    model = first.server.model or ""
    notes = (*found.notes, *recipe.fetched(first, [each for each in first.weights.commits if each != model]))
    data: dict[str, Any] = {
        "recipe_version": "2",
        "model": model,
        **({"model_revision": first.weights.commits[model]} if model in first.weights.commits else {}),
        "runtime": runtimes[:2][-1] if found.nodes > 1 else runtimes[0],
        "min_nodes": found.nodes,
        "max_nodes": found.nodes,
        "container": node.image(first),
        "executor_config": _executor_config(nodes[0]),
        "metadata": {"description": first.description},
        "defaults": found.defaults,
        "env": found.env,
    }
    keys = {key: value for key, value in data.items() if value not in ({}, "")}
    return Exported(recipe.text(notes, node.heading(first), keys, found.command), notes)


def _executor_config(found: HostContainer) -> dict[str, Any]:
    """Return the container's memory settings that differ from sparkrun's default, the host's IPC namespace."""
    container = found.container
    settings = {
        "ipc": None if container.confinement.ipc == "host" else container.confinement.ipc,
        "shm_size": None if container.confinement.ipc == "host" else container.confinement.shm_size_bytes,
        "ulimit": [f"{name}={limit}" for name, limit in sorted(container.confinement.ulimits.items())],
    }
    return {key: value for key, value in settings.items() if value}
