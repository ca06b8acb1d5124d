"""Model repositories on hosts: which commit of which repository, in which store, and which hosts can copy it."""

from __future__ import annotations

from ipaddress import ip_interface
from typing import TYPE_CHECKING

from sparkiac.plan.parts import ModelRepository, ModelStore, Peer, StoredModel
from sparkiac.resolve.fabric import links_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from ipaddress import IPv4Interface, IPv6Interface

    from sparkiac.model.lock import LockedModel
    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.plan.values import Container
    from sparkiac.resolve import Resolved


def pinned(resolved: Resolved) -> dict[str, LockedModel]:
    """Return the repositories in the lock, without those for which the inventory now requests another revision."""
    found = {name: _pin(resolved, name) for name in (resolved.lock.models if resolved.lock else ())}
    return {name: locked for name, locked in found.items() if locked is not None}


def commits(resolved: Resolved, names: Iterable[str]) -> dict[str, str]:
    """Return repository → pinned commit, for those that the lock has."""
    found = {name: _pin(resolved, name) for name in sorted(names)}
    return {name: locked.commit for name, locked in found.items() if locked is not None}


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
        near = [(str(link.network), str(link.ip)) for link in _networks(host)]
        peers = [first.setdefault((net, model), Peer(name, ip)) for net, ip in near for model in held]
        found[name] = tuple(dict.fromkeys(peer for peer in peers if peer.host != name))
    return found


def address_for(server: ResolvedHost, client: ResolvedHost) -> str:
    """Return the address at which `client` reaches `server`: that of a direct link if they share one."""
    near = {link.network for link in _networks(client)}
    return next((str(link.ip) for link in _networks(server) if link.network in near), server.address)


def needed(container: Container) -> tuple[str, ...]:
    """Return the repositories that a container needs."""
    return tuple(dict.fromkeys(name for name, _ in with_layout(container)))


def with_layout(container: Container) -> Iterator[tuple[str, str]]:
    """Yield the repositories that a container needs, each with the layout in which its store contains it."""
    yield from ((name, "hub") for name in container.weights.models)
    yield from ((name, "directory") for each in container.weights.directories if (name := handle(each)) is not None)


def is_wanted(resolved: Resolved, name: str, revision: str) -> bool:
    """Return whether the locked revision of a repository is the one that the inventory requests, if it requests one."""
    return resolved.written.revisions.get(name, revision) == revision


def _pin(resolved: Resolved, name: str) -> LockedModel | None:
    locked = resolved.lock.models.get(name) if resolved.lock else None
    return locked if locked is not None and is_wanted(resolved, name, locked.revision) else None


def _networks(host: ResolvedHost) -> list[IPv4Interface | IPv6Interface]:
    return [ip_interface(link.address) for link in links_of(host)]


def _repository(name: str, locked: LockedModel) -> ModelRepository:
    files = {path: (file.size_bytes, file.sha256) for path, file in sorted(locked.files.items())}
    return ModelRepository(name, locked.commit, locked.gated, files)
