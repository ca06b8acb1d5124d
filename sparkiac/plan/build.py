"""Resolved values → plan."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from sparkiac.plan import builds, deployments, fleet, pins, proof, weights
from sparkiac.plan.captured import with_interfaces
from sparkiac.plan.order import batches, starts
from sparkiac.plan.parts import Giver, stated_bytes
from sparkiac.plan.preflight import expectations, secrets_of
from sparkiac.plan.values import HostPlan, Hub, Plan
from sparkiac.resolve.stacks import DEFAULT_PLATFORM

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.catalog.interfaces import Interface
    from sparkiac.model.inventory import Inventory
    from sparkiac.plan.parts import Repository
    from sparkiac.plan.values import Container
    from sparkiac.resolve import Resolved


def build(resolved: Resolved, interfaces: Mapping[str, Interface] = MappingProxyType({})) -> Plan:
    """Decide everything that is left. `resolved` has no errors.

    `interfaces` holds what images said of their vLLM, by their digests.
    """
    inventory = resolved.inventory.value
    assert inventory is not None  # noqa: S101
    placed = fleet.placed(resolved, tuple(_deployments(resolved)))
    hub = Hub(inventory.hub.url, inventory.hub.api_key.secret if inventory.hub.api_key else None)
    locked = weights.pinned(resolved)
    known = weights.repositories(locked, (each for found in placed.values() for each in found.containers))
    hosts = tuple(_host(name, resolved, placed[name], known, hub) for name in sorted(inventory.hosts))
    units = {host.name: host.units for host in hosts}
    order = starts(units)
    hosts = _supplied(tuple(host._replace(starts=order[host.name]) for host in hosts), inventory)
    hosts = tuple(with_interfaces(host, interfaces) for host in hosts) if interfaces else hosts
    hosts = _proven(hosts, locked)
    return Plan(inventory.name, hosts, tuple(builds.used(resolved)), tuple(known.values()), hub, batches(units))


def _deployments(resolved: Resolved) -> Iterator[tuple[str, Container]]:
    for name, nodes in resolved.values.get("deployments", {}).items():
        for host in nodes:
            yield host, deployments.container(resolved, name=name, host=host)


def _host(name: str, resolved: Resolved, placed: fleet.Placed, known: Mapping[str, Repository], hub: Hub) -> HostPlan:
    assert resolved.inventory.value is not None  # noqa: S101
    written, values = resolved.inventory.value.hosts[name], resolved.values["hosts"][name]
    containers = tuple(_copied(each) if written.images_from else each for each in placed.containers)
    stores = weights.stores(containers, known)
    secrets = {*secrets_of((*containers, *placed.programs)), *((hub.secret,) if stores and hub.secret else ())}
    host = HostPlan(
        name=name,
        address=values["address"],
        user=values.get("ssh", {}).get("user"),
        ssh_port=values.get("ssh", {}).get("port"),
        platform=values["title"],
        architecture=values["architecture"],
        driver=values.get("driver"),
        memory_bytes=stated_bytes(values.get("memory_gib")),
        reserve_bytes=stated_bytes(values.get("reserve_gib")),
        sysctls={key: str(value) for key, value in sorted(values.get("sysctl", {}).items())},
        containers=containers,
        preflight={},
        programs=placed.programs,
        documents=placed.documents,
        platform_name=written.platform or DEFAULT_PLATFORM,
        gpu=values.get("gpu"),
        links=tuple(values.get("fabric", {}).get("links", ())),
        stores=stores,
        secrets=tuple(sorted(secrets)),
        unpinned=pins.unpinned(containers, example=bool(resolved.lock and resolved.lock.example)),
    )
    return host._replace(preflight=expectations(values, host))


def _copied(container: Container) -> Container:
    """Have a host run by its ID what it gets from another one."""
    return container._replace(image=container.image._replace(copied=True))


def _proven(hosts: tuple[HostPlan, ...], models: proof.Models) -> tuple[HostPlan, ...]:
    """Work out where the memory of each host goes."""
    found = proof.proofs(hosts, models)
    proven = [(host, found.get(host.name, {})) for host in hosts]
    return tuple(host._replace(proofs=each, budget=proof.host_budget(host, each)) for host, each in proven)


def _supplied(hosts: tuple[HostPlan, ...], inventory: Inventory) -> tuple[HostPlan, ...]:
    """Say who can give each host its weights, and who gives it its images."""
    planned, near = {host.name: host for host in hosts}, weights.givers(hosts)
    return tuple(
        host._replace(
            weights_from=near[host.name],
            images_from=_giver(host, planned.get(inventory.hosts[host.name].images_from or "")),
        )
        for host in hosts
    )


def _giver(host: HostPlan, giver: HostPlan | None) -> Giver | None:
    return None if giver is None else Giver(giver.name, weights.reached(giver, host))
