"""The values of a deployment as a recipe: what its layers set, without what belongs to one fleet."""

from __future__ import annotations

from typing import Any, Final

from sparkiac import engines
from sparkiac.report import Path
from sparkiac.resolve import Resolved, catalogued, hosts_of
from sparkiac.resolve.leaves import Leaves, constant, nest

_OF_FLEET: Final = frozenset({"api_key", "bind", "description", "model_store", "nodes", "port"})
"""Keys of a deployment that describe the fleet and not the model."""
_LAYERS: Final = ("recipe ", "variant ", "fragment ", "inventory")
"""Layers whose values a recipe has to repeat: all others follow from the engine and the hosts."""
_FIRST: Final = ("title", "engine", "sources", "nodes", "use_cases", "image", "model")
"""Keys at the top of a recipe, in this order."""


def of_deployment(resolved: Resolved, name: str, source: str) -> dict[str, Any]:
    """Return the data of a recipe that starts what a deployment starts on its first host; `source` names it."""
    written = resolved.written.deployments[name]
    hosts = hosts_of(written)
    base: Path = ("deployments", name, hosts[0])
    leaves = {path[3:]: leaf for path, leaf in resolved.leaves.items() if path[:3] == base}
    engine = leaves["engine",][0]
    model = leaves["model",][0]
    head = {"title": written.description or f"{model} on {engine}", "engine": engine, "sources": (source,)}
    head |= {"nodes": len(hosts)} if len(hosts) > 1 else {}
    data = head | _known(resolved, name, model) | nest(_settings(leaves, engine))
    return {key: data[key] for key in (*_FIRST, *sorted(data.keys() - set(_FIRST))) if key in data}


def _known(resolved: Resolved, name: str, model: str) -> dict[str, Any]:
    """Return the facts and use cases of the deployment's recipe if it serves the same model."""
    written = resolved.written.deployments[name]
    if written.recipe is None:
        return {}
    found = catalogued.named(catalogued.full_name(written.recipe, written.variant), resolved.library)
    entry = next((each for each in reversed(found.entries) if each.model == model), None)
    if entry is None:
        return {}
    facts = entry.facts.model_dump(mode="json", exclude_defaults=True) if entry.facts else {}
    return {"use_cases": found.use_cases} | ({"facts": facts} if facts else {})


def _settings(leaves: Leaves, engine: str) -> Leaves:
    """Return the values that the layers set, and null for each default of the engine that they remove."""
    chosen = {
        path: leaf
        for path, leaf in leaves.items()
        if path[0] not in _OF_FLEET | {"engine"} and leaf[1].layer.startswith(_LAYERS)
    }
    defaults = constant(engines.named(engine).defaults, layer="removed")
    removed = {path: (None, origin) for path, (_, origin) in defaults.items() if path not in leaves}
    return chosen | removed
