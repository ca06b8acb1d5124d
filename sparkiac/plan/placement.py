"""Everything that runs, by host: deployments, and the services with the way to what each of them asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sparkiac.model.resolved import ResolvedHermesAgentService
from sparkiac.model.services import OpenClawService
from sparkiac.plan import deployments, hermes, openclaw, services
from sparkiac.plan.dependencies import dependencies_of, providers
from sparkiac.plan.parts import stated_bytes
from sparkiac.plan.topology import NETWORK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.plan.dependents import ConfigFile, Dependency, Program
    from sparkiac.plan.values import Container
    from sparkiac.resolve import Resolved


class PlacedHost(NamedTuple):
    """One host and what is on it, each sorted by name."""

    name: str
    values: ResolvedHost
    containers: tuple[Container, ...]
    programs: tuple[Program, ...]
    config_files: tuple[ConfigFile, ...]

    @property
    def units(self) -> tuple[Container | Program, ...]:
        """Everything that systemd runs."""
        return (*self.containers, *self.programs)

    @property
    def memory_bytes(self) -> int | None:
        """Memory of the host, if it is known."""
        return stated_bytes(self.values.memory_gib)


def place_all(resolved: Resolved) -> tuple[PlacedHost, ...]:
    """Place every deployment and service on its hosts, sorted by host."""
    fleet, known = resolved.fleet, providers(resolved)
    asked = {name: dependencies_of(resolved, name, known) for name in fleet.services}
    shared = dict.fromkeys(_joined(asked), NETWORK)
    containers: dict[str, list[Container]] = {host: [] for host in fleet.hosts}
    programs: dict[str, list[Program]] = {host: [] for host in fleet.hosts}
    documents: dict[str, list[ConfigFile]] = {host: [] for host in fleet.hosts}
    for name, nodes in fleet.deployments.items():
        for host in nodes:
            containers[host].append(deployments.container(resolved, name=name, host=host, shared=shared.get(name)))
    for name, service in fleet.services.items():
        match service:
            case ResolvedHermesAgentService():
                programs[service.on].append(hermes.program(resolved, name, service, asked[name]))
            case OpenClawService():
                documents[service.on].append(openclaw.document(name, service, asked[name]))
            case _:
                found = services.container(resolved, name, service, asked[name], shared=shared.get(name))
                containers[service.on].append(found)
    return tuple(
        PlacedHost(
            name,
            fleet.hosts[name],
            tuple(sorted(containers[name], key=lambda each: each.name)),
            tuple(programs[name]),
            tuple(documents[name]),
        )
        for name in sorted(fleet.hosts)
    )


def _joined(asked: Mapping[str, tuple[Dependency, ...]]) -> set[str]:
    """Name the containers that ask each other on their host: just those share a network."""
    near = {name: [link.name for link in found if link.network] for name, found in asked.items()}
    return {each for name, names in near.items() if names for each in (name, *names)}
