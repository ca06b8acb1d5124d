"""Inventory, catalog and lock → every value that holds, each with its origin.

Precedence, later wins: engine default < platform < recipe < variant < fragments < what the speculative method needs <
inventory defaults < deployment < one host of it. Names that lead nowhere are findings; nothing after this stage looks
a name up again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac import catalog
from sparkiac.model.settings import Serving, Settings
from sparkiac.resolve import builds, catalogued, references, services, uses, wanted
from sparkiac.resolve.leaves import Leaves, from_document, merge, nest

if TYPE_CHECKING:
    from sparkiac.model.inventory import Deployment, Inventory
    from sparkiac.model.lock import Lock
    from sparkiac.report import Finding, Path
    from sparkiac.source import Source

DEFAULT_PLATFORM: Final = "dgx-spark"
"""Hardware profile of a host that names none."""
_SETTINGS: Final = tuple(Settings.model_fields)
_SERVING: Final = tuple(Serving.model_fields)
_PLATFORM: Final = (
    "title",
    "architecture",
    "gpu",
    "driver",
    "memory_gib",
    "requires",
    "kernel_parameters",
    "sysctl",
    "docker_free_gib",
)


class Resolved(NamedTuple):
    """Everything decided by names and layers.

    `leaves` holds each value at its path: ("hosts", name, …), ("deployments", name, host, …),
    ("services", name, …), ("builds", name, …). `values` is the same as a nested mapping.
    """

    inventory: Source[Inventory]
    lock: Lock | None
    leaves: Leaves
    values: dict[str, Any]
    findings: tuple[Finding, ...]


def resolve(inventory: Source[Inventory], lock: Lock | None) -> Resolved:
    """Resolve a valid inventory. Opens no file but the catalog's."""
    assert inventory.value is not None, "the inventory must be valid"  # noqa: S101  the pipeline's order
    findings = check_names(inventory)
    if findings:
        return Resolved(inventory, lock, {}, {}, findings)
    leaves: Leaves = {}
    for name in inventory.value.hosts:
        leaves |= _at(("hosts", name), _host(inventory, name))
    for name, deployment in inventory.value.deployments.items():
        for host in hosts_of(deployment):
            store = _store(leaves, host)
            leaves |= _at(("deployments", name, host), _placement(inventory, name, host, store=store))
    for name, service in inventory.value.services.items():
        own = services.layers(inventory.document, name, service.kind, store=_store(leaves, service.on))
        leaves |= _at(("services", name), own)
    leaves |= builds.resolve(inventory, leaves)
    values = nest(leaves)
    checks = (wanted.check, services.check, builds.check)
    findings = tuple(finding for check in checks for finding in check(inventory, leaves, values))
    return Resolved(inventory, lock, leaves, values, findings)


def check_names(inventory: Source[Inventory]) -> tuple[Finding, ...]:
    """Check the names of an inventory, also of a faulty one: all its faults shall come at once."""
    return (*references.check(inventory.document), *uses.check(inventory.document))


def hosts_of(deployment: Deployment) -> tuple[str, ...]:
    """Give the hosts of a deployment, the leading one first."""
    return (deployment.on,) if isinstance(deployment.on, str) else deployment.on


def _at(base: Path, leaves: Leaves) -> Leaves:
    return {(*base, *path): leaf for path, leaf in leaves.items()}


def _inventory_layer(inventory: Source[Inventory], base: Path, keys: tuple[str, ...], *, target: Path = ()) -> Leaves:
    return from_document(inventory.document, base, layer="inventory", keys=keys, target=target)


def _host(inventory: Source[Inventory], name: str) -> Leaves:
    base = ("hosts", name)
    own = _inventory_layer(inventory, base, ("address", "driver", "fabric", "sysctl", "model_store"))
    memory = _inventory_layer(inventory, (*base, "memory"), ("total_gib",))
    ssh = _inventory_layer(inventory, (*base, "ssh"), ("user", "port"), target=("ssh",))
    defaults = _inventory_layer(inventory, ("defaults",), ("sysctl", "model_store"))
    login = _inventory_layer(inventory, ("defaults",), ("user",), target=("ssh",))
    measured: Leaves = {("memory_gib",): memory["total_gib",]} if memory else {}
    return merge(_platform(inventory, name), defaults, login, own, measured, ssh)


def _platform(inventory: Source[Inventory], host: str) -> Leaves:
    assert inventory.value is not None  # noqa: S101
    name = inventory.value.hosts[host].platform or DEFAULT_PLATFORM
    if name in inventory.value.platforms:
        return _inventory_layer(inventory, ("platforms", name), _PLATFORM)
    known = catalog.platform(name)
    assert known is not None, "references were checked"  # noqa: S101
    return from_document(known.document, (), layer=f"platform {name}", keys=_PLATFORM)


def _placement(inventory: Source[Inventory], name: str, host: str, *, store: Leaves) -> Leaves:
    assert inventory.value is not None  # noqa: S101
    deployment = inventory.value.deployments[name]
    base = ("deployments", name)
    return catalogued.laid(
        deployment.recipe,
        deployment.variant,
        deployment.fragments,
        _inventory_layer(inventory, ("defaults",), _SETTINGS),
        store,
        _inventory_layer(inventory, base, (*_SERVING, "description")),
        _inventory_layer(inventory, (*base, "per_host", host), _SETTINGS),
    )


def _store(leaves: Leaves, host: str) -> Leaves:
    """Give where a host keeps weights, from what is resolved of it already."""
    path: Path = ("hosts", host, "model_store")
    return {("model_store",): leaves[path]} if path in leaves else {}
