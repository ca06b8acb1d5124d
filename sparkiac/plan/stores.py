"""What each model store of a host must hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkiac import catalog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sparkiac.plan.values import Container


def stores(containers: Iterable[Container]) -> list[dict[str, Any]]:
    """Name what each store must hold, and what is to be known of some of it."""
    by_path: dict[str, list[Container]] = {}
    for container in containers:
        if container.store is not None and _names(container):
            by_path.setdefault(container.store, []).append(container)
    return [_store(path, found) for path, found in sorted(by_path.items())]


def _store(path: str, containers: list[Container]) -> dict[str, Any]:
    dated = {_cached(pair.drafter): pair.not_before for pair in catalog.drafters() if pair.drafter and pair.not_before}
    models = sorted({name for container in containers for name in _names(container)})
    gated = {container.model for container in containers if container.facts is not None and container.facts.gated}
    compared: dict[str, list[str]] = {}
    for container in containers:
        for name in _names(container) if container.node is not None else ():
            compared.setdefault(name, []).append(container.name)
    known = {
        "gated": sorted({name for model in gated if model for name in (model, _cached(model))} & set(models)),
        "not_before": {name: dated[name] for name in models if name in dated},
        "compared": compared,
    }
    return {"path": path, "models": models, **{key: value for key, value in known.items() if value}}


def _names(container: Container) -> tuple[str, ...]:
    """Name repositories as the hub's cache names them, and plain directories."""
    return (*map(_cached, container.models), *container.directories)


def _cached(model: str) -> str:
    return f"models--{model.replace('/', '--')}"
