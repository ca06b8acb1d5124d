"""Model repositories on hosts: which commit of which repository, in which store, and which hosts can copy it."""

from __future__ import annotations

from ipaddress import ip_interface
from typing import TYPE_CHECKING

from sparkiac.plan.parts import ModelRepository, ModelStore, Peer, StoredModel
from sparkiac.resolve.fabric import links_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sparkiac.model.lock import LockedModel
    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.plan.values import Container
    from sparkiac.resolve import Resolved


def pinned(resolved: Resolved) -> dict[str, LockedModel]:
    """Return the repositories in the lock, without those for which the inventory now requests another revision."""
    known = resolved.lock.models if resolved.lock else {}
    return {name: locked for name, locked in known.items() if is_requested(resolved, name, locked.revision)}


def commits(resolved: Resolved, names: Iterable[str]) -> dict[str, str]:
    """Return repository → pinned commit, for those that the lock has."""
    known = resolved.lock.models if resolved.lock else {}
    found = {name: known[name] for name in sorted(names) if name in known}
    return {name: locked.commit for name, locked in found.items() if is_requested(resolved, name, locked.revision)}


def handle(directory: str) -> str | None:
    """Return the repository of a directory or file in a model store; None if the path is not organisation/name."""
    organisation, _, rest = directory.partition("/")
    return f"{organisation}/{rest.partition('/')[0]}" if rest else None


def repositories(known: Mapping[str, LockedModel], containers: Iterable[Container]) -> dict[str, ModelRepository]:
    """Return the repositories that a container needs and whose files are in the lock, sorted by handle."""
    required = {name for container in containers for name in needed(container)}
    return {name: _repository(name, known[name]) for name in sorted(required) if name in known and known[name].files}


def stores(containers: Iterable[Container], known: Mapping[str, ModelRepository]) -> tuple[ModelStore, ...]:
    """Return the repositories that each model store of a host must contain, for those whose files are known."""
    found: dict[str, dict[tuple[str, str], StoredModel]] = {}
    for container in containers:
        for name, layout in with_layout(container):
            if container.weights.store is not None and name in known:
                found.setdefault(container.weights.store, {})[name, layout] = StoredModel(known[name], layout)
    return tuple(
        ModelStore(path, tuple(models[key] for key in sorted(models))) for path, models in sorted(found.items())
    )


def weight_peers(
    hosts: Mapping[str, ResolvedHost], stores: Mapping[str, tuple[ModelStore, ...]]
) -> dict[str, tuple[Peer, ...]]:
    """Return the hosts from which each host can copy weights: per network, the first host that needs the same model."""
    first: dict[tuple[str, str], Peer] = {}
    found: dict[str, tuple[Peer, ...]] = {}
    for name, host in hosts.items():
        held = [stored.repository.model for store in stores[name] for stored in store.models]
        near = [(str(link.network), str(link.ip)) for link in (ip_interface(each.address) for each in links_of(host))]
        peers = [first.setdefault((net, model), Peer(name, ip)) for net, ip in near for model in held]
        found[name] = tuple(dict.fromkeys(peer for peer in peers if peer.host != name))
    return found


def needed(container: Container) -> tuple[str, ...]:
    """Return the repositories that a container needs."""
    return tuple(dict.fromkeys(name for name, _ in with_layout(container)))


def with_layout(container: Container) -> Iterator[tuple[str, str]]:
    """Yield the repositories that a container needs, each with the layout in which its store contains it."""
    yield from ((name, "hub") for name in container.weights.models)
    yield from ((name, "directory") for each in container.weights.directories if (name := handle(each)) is not None)


def is_requested(resolved: Resolved, name: str, revision: str) -> bool:
    """Return whether the locked revision of a repository is the one that the inventory requests, if it requests one."""
    return resolved.written.revisions.get(name, revision) == revision


def _repository(name: str, locked: LockedModel) -> ModelRepository:
    files = {path: (file.size_bytes, file.sha256) for path, file in sorted(locked.files.items())}
    return ModelRepository(name, locked.commit, locked.gated, files)
