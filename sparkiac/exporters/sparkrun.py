"""A recipe of sparkrun, version 2. What its keys mean is said in `sparkiac/importers/sparkrun.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac.exporters import node, recipe
from sparkiac.exporters.node import Exported, Unsayable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.exporters.node import Node

_RUNTIMES: Final = {"vllm": "vllm", "sglang": "sglang", "llama-cpp": "llama-cpp", "tensorrt-llm": "trtllm"}
"""Engine → sparkrun's name for it."""
_CLUSTER: Final = {"vllm": "vllm-distributed"}


def write(nodes: Sequence[Node]) -> Exported:
    """Write a deployment. Raises Unsayable."""
    first = nodes[0].container
    engine = first.server.engine or ""
    if engine not in _RUNTIMES:
        message = f"sparkrun has no runtime for {first.server.engine}"
        raise Unsayable(message)
    found = recipe.of(nodes, doubled=False)
    model = first.server.model or ""
    notes = (*found.notes, *recipe.fetched(first, [each for each in first.weights.commits if each != model]))
    runtime = _CLUSTER.get(engine, _RUNTIMES[engine]) if found.nodes > 1 else _RUNTIMES[engine]
    data: dict[str, Any] = {
        "recipe_version": "2",
        "model": model,
        **({"model_revision": first.weights.commits[model]} if model in first.weights.commits else {}),
        "runtime": runtime,
        "min_nodes": found.nodes,
        "max_nodes": found.nodes,
        "container": node.image(first),
        "executor_config": _box(nodes[0]),
        "metadata": {"description": first.description},
        "defaults": found.defaults,
        "env": found.env,
    }
    held = {key: value for key, value in data.items() if value not in ({}, "")}
    return Exported(recipe.text(notes, node.lines(first), held, found.command), notes)


def _box(found: Node) -> dict[str, Any]:
    """Say the container's memory where it is not sparkrun's own way, which is the host's IPC namespace."""
    container = found.container
    wanted = {
        "ipc": None if container.confinement.ipc == "host" else container.confinement.ipc,
        "shm_size": None if container.confinement.ipc == "host" else container.confinement.shm_size_bytes,
        "ulimit": [f"{name}={limit}" for name, limit in sorted(container.confinement.ulimits.items())],
    }
    return {key: value for key, value in wanted.items() if value}
