"""Model repositories on hosts: which commit of which repository, in which store, and which hosts can copy it."""

from __future__ import annotations

import re
from ipaddress import ip_interface
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from sparkiac.engines.engine import HUB_HOME, HUB_HOMES
from sparkiac.host.generation import OwnFolder
from sparkiac.model.forms import HANDLE
from sparkiac.model.references import hub_file
from sparkiac.plan.parts import BindMount, ModelRepository, ModelStore, Peer, StoredModel
from sparkiac.plan.topology import address_towards
from sparkiac.resolve.fabric import links_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sparkiac.model.inventory import Inventory, OwnModel
    from sparkiac.model.lock import Lock, LockedFile, LockedModel
    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.plan.container import Container


class Pins(NamedTuple):
    """What the lock pins, without the repositories for which the inventory now requests another revision."""

    models: Mapping[str, LockedModel]
    """Repository → commit and files."""
    files: Mapping[str, LockedFile]
    """URL → hash."""

    def commits(self, names: Iterable[str]) -> dict[str, str]:
        """Return repository → pinned commit, for those that the lock has."""
        return {name: self.models[name].commit for name in sorted(names) if name in self.models}


def pins(lock: Lock | None, written: Inventory) -> Pins:
    """Return the pins of a lock, without those of another revision or place than the inventory names."""
    requested = {**written.revisions, **{name: str(own) for name, own in written.own_models.items()}}
    if lock is None:
        return Pins({}, {})
    models = {name: each for name, each in lock.models.items() if requested.get(name, each.revision) == each.revision}
    files = {
        url: each
        for url, each in lock.files.items()
        if (named := hub_file(url)) is None or requested.get(named[0], each.revision) == each.revision
    }
    return Pins(models, files)


def handle(directory: str) -> str | None:
    """Return the repository of a directory or file in a model store; None if the path is not organisation/name."""
    organisation, _, rest = directory.partition("/")
    return f"{organisation}/{rest.partition('/')[0]}" if rest else None


def repositories(
    known: Mapping[str, LockedModel], own: Mapping[str, OwnModel], containers: Iterable[Container]
) -> dict[str, ModelRepository]:
    """Return the repositories that a container needs and whose files are in the lock, sorted by handle."""
    required = {name for container in containers for name in needed(container)}
    listed = (name for name in sorted(required) if name in known and known[name].files)
    return {name: _repository(name, known[name], own.get(name)) for name in listed}


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


def with_owners(
    hosts: Mapping[str, ResolvedHost], stores: Mapping[str, tuple[ModelStore, ...]]
) -> dict[str, tuple[ModelStore, ...]]:
    """Return the stores; the host that has a model of the user's stores it too, so that others can copy it."""
    found = {name: {store.path: list(store.models) for store in each} for name, each in stores.items()}
    for each in stores.values():
        for path, stored in ((store.path, stored) for store in each for stored in store.models):
            if (own := stored.repository.own) is not None:
                there = found[own.host]
                if not any(stored in models for models in there.values()):
                    there.setdefault(hosts[own.host].model_store or path, []).append(stored)
    return {
        name: tuple(ModelStore(path, tuple(sorted(models, key=_name))) for path, models in sorted(each.items()))
        for name, each in found.items()
    }


def _name(stored: StoredModel) -> tuple[str, str]:
    return stored.repository.model, stored.layout


def weight_peers(
    hosts: Mapping[str, ResolvedHost], stores: Mapping[str, tuple[ModelStore, ...]]
) -> dict[str, tuple[Peer, ...]]:
    """Return the hosts from which each host can copy weights.

    These are the hosts that have the user's own models and, per network of links, the first one that needs the same
    model.
    """
    first: dict[tuple[str, str], Peer] = {}
    found: dict[str, tuple[Peer, ...]] = {}
    for name, host in hosts.items():
        needed_here = [stored.repository for store in stores[name] for stored in store.models]
        held = [each.model for each in needed_here]
        owners = (each.own.host for each in needed_here if each.own is not None)
        sources = [Peer(owner, address_towards(hosts[owner], [host])) for owner in owners]
        near = [(str(link.network), str(link.ip)) for link in (ip_interface(each.address) for each in links_of(host))]
        peers = [first.setdefault((net, model), Peer(name, ip)) for net, ip in near for model in held]
        found[name] = tuple(dict.fromkeys(peer for peer in (*sources, *peers) if peer.host != name))
    return found


def needed(container: Container) -> tuple[str, ...]:
    """Return the repositories that a container needs."""
    return tuple(dict.fromkeys(name for name, _ in with_layout(container)))


def with_layout(container: Container) -> Iterator[tuple[str, str]]:
    """Yield the repositories that a container needs, each with the layout in which its store contains it."""
    yield from ((name, "hub") for name in container.weights.models)
    yield from ((name, "directory") for each in container.weights.directories if (name := handle(each)) is not None)


def mounted(container: Container) -> tuple[BindMount, ...]:
    """Return the mounts of a container on its host: of a model store, only the models and files that it reads."""
    return tuple(part for mount in container.storage.mounts for part in _parts(container, mount))


def _parts(container: Container, mount: BindMount) -> Iterator[BindMount]:
    """Yield a mount, or those of what a container reads in a store. One that it writes to stays whole."""
    command, options = container.command, container.server.options
    hub = command.env.get("HF_HOME", HUB_HOME)
    elsewhere = any(name in command.env for name in HUB_HOMES[1:]) or "lora_modules" in options
    holds_hub = f"{hub}/".startswith(f"{mount.target}/") or mount.target == f"{hub}/hub"
    values = (value for name, value in command.env.items() if name != "HF_HOME")
    path = re.compile(rf"(?<![\w./-]){re.escape(mount.target)}(?![\w.-])((?:/[\w.@+-]+)*)")
    parts = {found for text in (*command.words, *chain(*command.pre_start), *values) for found in path.findall(text)}
    if mount.target == hub:
        named = (*container.weights.models, str(options.get("tokenizer", "")))
        parts |= {f"/hub/models--{name.replace('/', '--')}" for name in named if re.fullmatch(HANDLE, name)}
    elif holds_hub:
        elsewhere = True
    if mount.source != container.weights.store or not mount.read_only or elsewhere or "" in parts or not parts:
        yield mount
    else:
        yield from (BindMount(mount.source + part, mount.target + part, read_only=True) for part in sorted(parts))


def _repository(name: str, locked: LockedModel, own: OwnModel | None) -> ModelRepository:
    files = {path: (file.size_bytes, file.sha256) for path, file in sorted(locked.files.items())}
    folder = OwnFolder(own.host, own.folder) if own else None
    return ModelRepository(name, locked.commit, locked.gated, locked.private, files, folder)
