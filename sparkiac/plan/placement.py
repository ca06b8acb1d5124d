"""Place deployments and services on their hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sparkiac.model.resolved import ResolvedHermesAgentService
from sparkiac.model.services import OpenClawService
from sparkiac.plan import deployments, hermes, links, monitoring, openclaw, services
from sparkiac.plan.dependencies import dependencies_of, providers
from sparkiac.plan.parts import stated_bytes
from sparkiac.plan.topology import NETWORK
from sparkiac.resolve import hosts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.plan.dependents import ConfigFile, Dependency, Program
    from sparkiac.plan.monitoring.scraping import ScrapeTarget
    from sparkiac.plan.values import Container
    from sparkiac.resolve import Resolved


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


def place_all(resolved: Resolved) -> tuple[tuple[PlacedHost, ...], tuple[ScrapeTarget, ...]]:
    """Plan everything on its hosts; return the hosts sorted by name, and what Prometheus cannot reach."""
    fleet, known = resolved.fleet, providers(resolved)
    dependencies = {name: dependencies_of(resolved, name, known) for name in fleet.services}
    shared = dict.fromkeys(_on_shared_network(dependencies), NETWORK)
    containers: dict[str, list[Container]] = {host: [] for host in fleet.hosts}
    programs: dict[str, list[Program]] = {host: [] for host in fleet.hosts}
    config_files: dict[str, list[ConfigFile]] = {host: [] for host in fleet.hosts}
    numbers = links.group_numbers({name: hosts_of(each) for name, each in resolved.written.deployments.items()})
    for name, nodes in fleet.deployments.items():
        for host in nodes:
            containers[host].append(
                deployments.container(resolved, name=name, host=host, number=numbers[name], shared=shared.get(name))
            )
    for name, service in fleet.services.items():
        match service:
            case ResolvedHermesAgentService():
                programs[service.hosts].append(hermes.program(resolved, name, service, dependencies[name]))
            case OpenClawService():
                config_files[service.hosts].append(openclaw.config_file(name, service, dependencies[name]))
            case _:
                found = services.container(resolved, name, service, dependencies[name], shared=shared.get(name))
                containers[service.hosts].append(found)
    watched = monitoring.watch(resolved, containers)
    for host, monitors in watched.containers.items():
        containers[host] += monitors
    placed = tuple(
        PlacedHost(
            name,
            fleet.hosts[name],
            tuple(sorted(containers[name], key=lambda each: each.name)),
            tuple(programs[name]),
            tuple(config_files[name]),
        )
        for name in sorted(fleet.hosts)
    )
    return placed, watched.unreachable


def _on_shared_network(dependencies: Mapping[str, tuple[Dependency, ...]]) -> set[str]:
    """Return the containers that use each other on one host; only these share a Docker network."""
    near = {name: [link.name for link in found if link.network] for name, found in dependencies.items()}
    return {each for name, names in near.items() if names for each in (name, *names)}
