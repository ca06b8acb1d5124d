"""The models that preflight looks for in each model store of a host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac import catalog
from sparkiac.plan.contract import StoreExpectation
from sparkiac.plan.weights import handle

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from sparkiac.plan.parts import ModelStore
    from sparkiac.plan.values import Container


def stores(
    containers: Iterable[Container], *, staged: Iterable[ModelStore] = (), unpinned: Collection[str] = ()
) -> tuple[StoreExpectation, ...]:
    """Return the expected content of each model store.

    Models that the playbooks download are not checked, because they may not be there yet. The commit of an unpinned
    model is not checked, because preflight would suggest to download a commit that does not exist.
    """
    downloaded = {(store.path, stored.repository.model) for store in staged for stored in store.models}
    by_path: dict[str, dict[str, list[Container]]] = {}
    for container in containers:
        for entry, model in _entries(container, unpinned):
            if container.weights.store is not None and (container.weights.store, model) not in downloaded:
                by_path.setdefault(container.weights.store, {}).setdefault(entry, []).append(container)
    return tuple(_store(path, found) for path, found in sorted(by_path.items()))


def _store(path: str, entries: dict[str, list[Container]]) -> StoreExpectation:
    dated = {_cached(pair.drafter): pair.not_before for pair in catalog.drafters() if pair.drafter and pair.not_before}
    groups = {entry: tuple(each.name for each in users if each.server.node) for entry, users in entries.items()}
    gated = (_name(entry) for entry, users in entries.items() if any(_gated(user, entry) for user in users))
    return StoreExpectation(
        path=path,
        models=tuple(sorted(entries)),
        gated=tuple(sorted(gated)),
        not_before={_name(entry): dated[_name(entry)] for entry in sorted(entries) if _name(entry) in dated},
        compared={_name(entry): names for entry, names in groups.items() if names},
    )


def _gated(container: Container, entry: str) -> bool:
    known = (
        container.server.facts is not None
        and container.server.facts.gated is True
        and container.server.model is not None
    )
    return known and _name(entry) in {container.server.model, _cached(container.server.model or "")}


def _entries(container: Container, unpinned: Collection[str]) -> Iterator[tuple[str, str]]:
    """Return the directory of each model in the Hugging Face cache, with the pinned commit, or its plain directory."""
    for model in container.weights.models:
        commit = None if model in unpinned else container.weights.commits.get(model)
        yield f"{_cached(model)}{f'@{commit}' if commit else ''}", model
    yield from ((name, name) for name in (handle(each) or each for each in container.weights.directories))


def _name(entry: str) -> str:
    return entry.partition("@")[0]


def _cached(model: str) -> str:
    return f"models--{model.replace('/', '--')}"
