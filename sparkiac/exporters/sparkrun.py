"""A recipe of sparkrun, version 2; `sparkiac/importers/sparkrun.py` describes the format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sparkiac import engines
from sparkiac.exporters import node, recipe
from sparkiac.exporters.node import Exported, ExportError, HostContainer
from sparkiac.plan import unwritten
from sparkiac.plan.confinement import KEYED, Confinement, Tree


def write(nodes: Sequence[HostContainer]) -> Exported:
    """Write a deployment. Raises ExportError."""
    first = nodes[0].container
    runtimes = engines.named(first.server.engine).sparkrun
    if not runtimes:
        message = f"sparkrun has no runtime for {first.server.engine}"
        raise ExportError(message)
    found = recipe.build(nodes, "sparkrun", doubled=False)
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
        "executor_config": _executor_config(first.confinement),
        "metadata": {"description": first.description},
        "defaults": found.defaults,
        "env": found.env,
    }
    keys = {key: value for key, value in data.items() if value not in ({}, "")}
    return Exported(recipe.text(notes, node.heading(first), keys, found.command), notes)


def _executor_config(found: Confinement) -> dict[str, Tree]:
    """Return the container's settings that differ from sparkrun's default, the host's IPC namespace."""
    wanted = {
        each.docker.replace("-", "_"): each.value(found)
        for each in KEYED
        if not unwritten.refuses("sparkrun", ".".join(each.path))
    }
    wanted["ipc"] = None if found.ipc == "host" else found.ipc
    lists = {
        key: [f"{name}={each}" for name, each in value.items()]
        for key, value in wanted.items()
        if isinstance(value, Mapping)
    }
    return {key: value for key, value in (wanted | lists).items() if value}
