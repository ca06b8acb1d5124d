"""Weights, tokenizers and drafters: which commit of each a host must hold, where, and who can give it to others."""

from __future__ import annotations

from ipaddress import ip_interface
from typing import TYPE_CHECKING

from sparkiac.plan.addresses import links_of
from sparkiac.plan.parts import ModelRepository, ModelStore, Peer, StoredModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from ipaddress import IPv4Interface, IPv6Interface

    from sparkiac.model.lock import LockedModel
    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.plan.values import Container
    from sparkiac.resolve import Resolved


def pinned(resolved: Resolved) -> dict[str, LockedModel]:
    """Give the lock's repositories, but for those that the inventory now wants at another revision."""
    found = {name: _pin(resolved, name) for name in (resolved.lock.models if resolved.lock else ())}
    return {name: locked for name, locked in found.items() if locked is not None}


def commits(resolved: Resolved, names: Iterable[str]) -> dict[str, str]:
    """Give the pinned commits of these repositories, as far as the lock has them."""
    found = {name: _pin(resolved, name) for name in sorted(names)}
    return {name: locked.commit for name, locked in found.items() if locked is not None}


def handle(directory: str) -> str | None:
    """Give the repository that a directory or file of a model store belongs to; None where it is the user's own."""
    organisation, _, rest = directory.partition("/")
    return f"{organisation}/{rest.partition('/')[0]}" if rest else None


def repositories(known: Mapping[str, LockedModel], containers: Iterable[Container]) -> dict[str, ModelRepository]:
    """Give the repositories that some container needs and whose files the lock knows, sorted by handle."""
    wanted = {name for container in containers for name in needed(container)}
    return {name: _repository(name, known[name]) for name in sorted(wanted) if name in known and known[name].files}


def stores(containers: Iterable[Container], known: Mapping[str, ModelRepository]) -> tuple[ModelStore, ...]:
    """Give what each store of a host must hold of the repositories whose files are known."""
    found: dict[str, dict[tuple[str, str], StoredModel]] = {}
    for container in containers:
        for name, layout in _laid_out(container):
            if container.weights.store is not None and name in known:
                found.setdefault(container.weights.store, {})[name, layout] = StoredModel(known[name], layout)
    return tuple(
        ModelStore(path, tuple(models[key] for key in sorted(models))) for path, models in sorted(found.items())
    )


def weight_peers(
    hosts: Mapping[str, ResolvedHost], stores: Mapping[str, tuple[ModelStore, ...]]
) -> dict[str, tuple[Peer, ...]]:
    """Name for each host who can give it weights over a direct link: the first host of the link's network has them."""
    first: dict[tuple[str, str], Peer] = {}
    found: dict[str, tuple[Peer, ...]] = {}
    for name, host in hosts.items():
        held = [stored.repository.model for store in stores[name] for stored in store.models]
        near = [(str(link.network), str(link.ip)) for link in _networks(host)]
        asked = [first.setdefault((net, model), Peer(name, ip)) for net, ip in near for model in held]
        found[name] = tuple(dict.fromkeys(giver for giver in asked if giver.host != name))
    return found


def address_seen_from(giver: ResolvedHost, taker: ResolvedHost) -> str:
    """Give the address at which `taker` asks `giver`: that of a direct link if they share one."""
    near = {link.network for link in _networks(taker)}
    return next((str(link.ip) for link in _networks(giver) if link.network in near), giver.address)


def needed(container: Container) -> tuple[str, ...]:
    """Name the repositories that a container cannot do without."""
    return tuple(dict.fromkeys(name for name, _ in _laid_out(container)))


def _laid_out(container: Container) -> Iterator[tuple[str, str]]:
    yield from ((name, "hub") for name in container.weights.models)
    yield from ((name, "directory") for each in container.weights.directories if (name := handle(each)) is not None)


def is_wanted(resolved: Resolved, name: str, revision: str) -> bool:
    """Whether the inventory wants a repository at the revision that the lock has it of, or says nothing of it."""
    return resolved.written.revisions.get(name, revision) == revision


def _pin(resolved: Resolved, name: str) -> LockedModel | None:
    locked = resolved.lock.models.get(name) if resolved.lock else None
    return locked if locked is not None and is_wanted(resolved, name, locked.revision) else None


def _networks(host: ResolvedHost) -> list[IPv4Interface | IPv6Interface]:
    return [ip_interface(link.address) for link in links_of(host)]


def _repository(name: str, locked: LockedModel) -> ModelRepository:
    files = {path: (file.size_bytes, file.sha256) for path, file in sorted(locked.files.items())}
    return ModelRepository(name, locked.commit, locked.gated, files)
