"""Place deployments and services on their hosts."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from sparkiac.model.resolved import ResolvedGatewayService, ResolvedHermesAgentService
from sparkiac.model.services import OpenClawService
from sparkiac.plan import agents, deployments, facts, gateway, links, monitoring, services
from sparkiac.plan.dependencies import dependencies, providers
from sparkiac.plan.parts import memory_source, stated_bytes
from sparkiac.plan.topology import NETWORK
from sparkiac.resolve import hosts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.catalog.library import Library
    from sparkiac.model.inventory import Inventory
    from sparkiac.model.resolved import ResolvedFleet, ResolvedHost
    from sparkiac.plan.agents import ConfigFile
    from sparkiac.plan.container import Container, Program
    from sparkiac.plan.image import Images
    from sparkiac.plan.monitoring.prometheus import ScrapeTarget
    from sparkiac.plan.parts import Dependency
    from sparkiac.plan.weights import Pins
    from sparkiac.resolve.leaves import Leaves


class PlacedHost(NamedTuple):
    """One host and everything that runs on it, sorted by name."""

    name: str
    values: ResolvedHost
    containers: tuple[Container, ...]
    programs: tuple[Program, ...]
    config_files: tuple[ConfigFile, ...]

    @property
    def units(self) -> tuple[Container | Program, ...]:
        """Return everything that has a systemd unit."""
        return (*self.containers, *self.programs)

    @property
    def memory_bytes(self) -> int | None:
        """Return the memory of the host, if it is known."""
        return stated_bytes(self.values.memory_gib)


class Placed(NamedTuple):
    """What runs on which host."""

    hosts: tuple[PlacedHost, ...]
    """Sorted by name."""
    unwatched: tuple[ScrapeTarget, ...]
    """What Prometheus cannot reach."""


class Pinned(NamedTuple):
    """What the lock and the catalog know about images, models and recipes."""

    images: Images
    pins: Pins
    library: Library


def place_all(written: Inventory, fleet: ResolvedFleet, leaves: Leaves, pinned: Pinned) -> Placed:
    """Plan everything on its hosts."""
    groups = {name: hosts_of(each) for name, each in written.deployments.items()}
    known = providers(fleet, {name: group[0] for name, group in groups.items()})
    used = dependencies(fleet, known, written.routes)
    shared = _on_shared_network(used)
    containers: dict[str, list[Container]] = {host: [] for host in fleet.hosts}
    programs: dict[str, list[Program]] = {host: [] for host in fleet.hosts}
    config_files: dict[str, list[ConfigFile]] = {host: [] for host in fleet.hosts}
    for on, planned in _deployments(written, fleet, groups, pinned):
        containers[on].append(planned)
    for name, service in fleet.services.items():
        on, values, links = service.hosts, fleet.hosts[service.hosts], used[name]
        match service:
            case ResolvedHermesAgentService():
                programs[on].append(agents.program(name, service, links, host=values))
            case OpenClawService():
                config_files[on].append(agents.config_file(name, service, links))
            case ResolvedGatewayService():
                image = pinned.images.find(service.image, host=on)
                planned = gateway.container(name, links, written.routes, fleet=fleet, image=image)
                containers[on].append(planned)
            case _:
                image, source = pinned.images.find(service.image, host=on), memory_source(leaves, ("services", name))
                found = services.container(name, service, links, host=values, image=image)
                containers[on].append(found._replace(memory_source=source))
    containers = {on: [_shared(each, shared) for each in found] for on, found in containers.items()}
    watched = monitoring.watch(written, fleet, leaves, images=pinned.images, placed=containers)
    for name, monitors in watched.containers.items():
        containers[name] += monitors
    in_order = {name: tuple(sorted(found, key=attrgetter("name"))) for name, found in containers.items()}
    hosts = (
        PlacedHost(name, fleet.hosts[name], in_order[name], tuple(programs[name]), tuple(config_files[name]))
        for name in sorted(fleet.hosts)
    )
    return Placed(tuple(hosts), watched.unreachable)


def _deployments(
    written: Inventory, fleet: ResolvedFleet, groups: Mapping[str, tuple[str, ...]], pinned: Pinned
) -> Iterator[tuple[str, Container]]:
    """Yield the containers of all deployments, each with its host."""
    numbers = links.group_numbers(groups)
    for name, nodes in fleet.deployments.items():
        deployment = written.deployments[name]
        recipe = facts.used(deployment, pinned.library)
        for host in nodes:
            node = deployments.node_of(fleet, deployment, name=name, host=host, number=numbers[name])
            yield host, deployments.container(node, recipe, pinned.images, pinned.pins)


def _shared(container: Container, names: set[str]) -> Container:
    """Return a container; if it is one of `names`, it is in the Docker network of containers that use each other."""
    return (
        container._replace(network=container.network._replace(shared=NETWORK)) if container.name in names else container
    )


def _on_shared_network(dependencies: Mapping[str, tuple[Dependency, ...]]) -> set[str]:
    """Return the containers that use each other on one host; only these share a Docker network."""
    near = {name: [link.name for link in found if link.network] for name, found in dependencies.items()}
    return {each for name, names in near.items() if names for each in (name, *names)}
