"""The layers of one host, deployment or service, lowest first."""

from __future__ import annotations

from typing import Final

from sparkiac import catalog, engines
from sparkiac.catalog.library import Library
from sparkiac.model.base import Ssh
from sparkiac.model.catalog import Platform
from sparkiac.model.inventory import Defaults, Deployment, Host, HostMemory, Inventory
from sparkiac.model.resolved import ResolvedDeployment, ResolvedHost
from sparkiac.model.settings import Settings
from sparkiac.report import Origin, Path
from sparkiac.resolve import builds, catalogued, fabric, monitoring, services
from sparkiac.resolve.leaves import Leaves, from_document, merge, of_entry
from sparkiac.source import Source

_OWN_MODEL: Final = "/model"
"""Path in the container of a model whose files lie on a host."""
_SETTINGS: Final = tuple(Settings.model_fields)
_PLATFORM: Final = tuple(name for name in Platform.model_fields if name != "sources")
_HOST: Final = tuple(name for name in Host.model_fields if name in ResolvedHost.model_fields and name != "ssh")
_EVERY_HOST: Final = tuple(name for name in Defaults.model_fields if name in ResolvedHost.model_fields)
_DEPLOYMENT: Final = tuple(name for name in Deployment.model_fields if name in ResolvedDeployment.model_fields)


def host(inventory: Source[Inventory], name: str) -> tuple[Leaves, ...]:
    """Return the layers of a host."""
    base = ("hosts", name)
    own = _from_inventory(inventory, base, _HOST)
    memory = _from_inventory(inventory, (*base, "memory"), tuple(HostMemory.model_fields))
    ssh = _from_inventory(inventory, (*base, "ssh"), tuple(Ssh.model_fields), target=("ssh",))
    defaults = _from_inventory(inventory, ("defaults",), _EVERY_HOST)
    login = _from_inventory(inventory, ("defaults",), ("user",), target=("ssh",))
    renamed: dict[Path, Path] = {("total_gib",): ("memory_gib",)}
    measured: Leaves = {renamed.get(path, path): leaf for path, leaf in memory.items()}
    return _platform(inventory, name), defaults, login, own, measured, ssh


def deployment(inventory: Source[Inventory], name: str, on: str, hosts: Leaves, library: Library) -> tuple[Leaves, ...]:
    """Return the layers of a deployment on one host; the host must be resolved."""
    chosen = inventory.valid.deployments[name]
    base = ("deployments", name)
    layers = catalogued.stack(
        chosen.recipe,
        chosen.variant,
        chosen.fragments,
        _own_memory(chosen, library),
        _from_inventory(inventory, ("defaults",), _SETTINGS),
        _of_host(hosts, on, "model_store", "reachable_from"),
        _from_inventory(inventory, base, _DEPLOYMENT),
        _from_inventory(inventory, (*base, "per_host", on), _SETTINGS),
        group=_own_model(inventory, chosen, library) | _group(inventory.valid, chosen, on, library),
        library=library,
    )
    return *layers, _routed(inventory.valid, name, merge(*layers))


def _routed(inventory: Inventory, name: str, below: Leaves) -> Leaves:
    """Return the served names of a deployment to which routes go: the engine refuses a name that it does not serve."""
    aliases = [alias for alias, route in inventory.routes.items() if name in route.targets]
    own = below.get(("served_names",)) or below.get(("model",))
    if not aliases or own is None:
        return {}
    names = own[0] if isinstance(own[0], tuple) else (own[0],)
    return {("served_names",): (tuple(dict.fromkeys((*names, *aliases))), Origin("routes"))}


def _alone(deployment: Deployment) -> bool:
    return isinstance(deployment.hosts, str) or len(deployment.hosts) == 1


def _group(inventory: Inventory, deployment: Deployment, on: str, library: Library) -> Leaves:
    """Return the settings that a node of a group needs on a host with links; empty for a deployment on one host."""
    if _alone(deployment):
        return {}
    members = [fabric.links_of(inventory.hosts[name]) for name in deployment.hosts]
    known = library.recipe(deployment.recipe) if deployment.recipe else None
    name = deployment.engine or (known.value.engine if known and known.value else None)
    groups = engines.named(name).groups
    if groups is None or not all(members):
        return {}
    return fabric.layer(inventory.hosts[on], members, engines.executor(groups, deployment.executor), nccl=groups.nccl)


def _own_memory(deployment: Deployment, library: Library) -> Leaves:
    """Return the /dev/shm of a deployment on one host; a node of a group shares that of its host, as the sources do."""
    chosen = catalogued.layers(deployment.recipe, deployment.variant, deployment.fragments, library=library)
    return catalogued.own_memory(merge(*chosen), library) if _alone(deployment) else {}


def _own_model(inventory: Source[Inventory], deployment: Deployment, library: Library) -> Leaves:
    """Return how a model whose files lie on a host is loaded: from a directory, because no hub has its name."""
    known = library.recipe(deployment.recipe) if deployment.recipe else None
    model = deployment.model or (known.value.model if known and known.value else None)
    own = inventory.valid.own_models.get(model or "")
    if own is None:
        return {}
    origin = Origin(f"own_models.{model}")
    file: Leaves = {("model_file",): (own.file, origin)} if own.file else {}
    return {("model_path",): (_OWN_MODEL, origin), **file}


def service(inventory: Source[Inventory], name: str, hosts: Leaves) -> tuple[Leaves, ...]:
    """Return the layers of a service; its host must be resolved."""
    chosen = inventory.valid.services[name]
    return services.stack(
        inventory.document,
        name,
        chosen.kind,
        store=_of_host(hosts, chosen.hosts, "model_store"),
        clients=_of_host(hosts, chosen.hosts, "reachable_from"),
    )


def history(
    inventory: Source[Inventory], path: Path, leaves: Leaves, library: Library
) -> tuple[tuple[object, Origin], ...]:
    """Return the value of each layer for a path, lowest first; the last one is used."""
    match path:
        case ("hosts", str(name), *rest):
            found = host(inventory, name)
        case ("deployments", str(name), str(on), *rest):
            found = deployment(inventory, name, on, leaves, library)
        case ("services", str(name), *rest):
            found = service(inventory, name, leaves)
        case ("monitoring", "exporters", str(name), *rest):
            found = monitoring.stack(inventory.document, ("exporters", name))
        case ("monitoring", str(name), *rest):
            found = monitoring.stack(inventory.document, (name,))
        case ("builds", str(name), *rest):
            found = builds.stack(inventory, name)
        case _:
            found, rest = (), []
    return tuple(layer[tuple(rest)] for layer in found if tuple(rest) in layer)


def _from_inventory(inventory: Source[Inventory], base: Path, keys: tuple[str, ...], *, target: Path = ()) -> Leaves:
    return from_document(inventory.document, base, layer="inventory", keys=keys, target=target)


def _platform(inventory: Source[Inventory], name: str) -> Leaves:
    chosen = inventory.valid.hosts[name].platform or catalog.DEFAULT_PLATFORM
    if chosen in inventory.valid.platforms:
        found = _from_inventory(inventory, ("platforms", chosen), _PLATFORM)
        gpu, origin = found.get(("gpu",), (None, None))
        if gpu and origin and gpu.get("unified_memory") is None:
            shared = catalog.has_unified_memory(gpu["compute_capability"])
            return {**found, ("gpu",): ({**gpu, "unified_memory": shared}, origin)}
        return found
    known = catalog.platform(chosen)
    assert known is not None, "references were checked"  # noqa: S101
    return of_entry(known.document, layer=f"platform {chosen}", keys=_PLATFORM)


def _of_host(leaves: Leaves, on: str, *keys: str) -> Leaves:
    """Return values of a host that is resolved, which apply to what runs on it."""
    return {(key,): leaves["hosts", on, key] for key in keys if ("hosts", on, key) in leaves}
