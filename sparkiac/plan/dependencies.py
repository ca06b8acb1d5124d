"""Which services use which deployments and services, and at which URL they reach them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sparkiac.model.resolved import ResolvedHermesAgentService, ResolvedOllamaService, ResolvedOpenWebuiService
from sparkiac.model.services import OpenClawService
from sparkiac.plan import command
from sparkiac.plan.addresses import bind_address
from sparkiac.plan.dependents import Dependency
from sparkiac.plan.settings import server_port
from sparkiac.plan.topology import GATEWAY, ListenAddress, Route, route
from sparkiac.resolve import hosts_of, uses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.model.resolved import ResolvedContainerService, ResolvedService
    from sparkiac.report import Path
    from sparkiac.resolve import Resolved

    _WithApi = ResolvedContainerService | ResolvedOllamaService | ResolvedHermesAgentService


class Provider(NamedTuple):
    """A deployment or service with an API that others can use."""

    path: Path
    """Path of its definition in the inventory."""
    endpoint: ListenAddress
    api: str
    """`openai`, or `ollama`, which serves both APIs."""
    secret: str | None
    models: tuple[str, ...]


def providers(resolved: Resolved) -> dict[str, Provider]:
    """Return every deployment and service with an API, by name."""
    found = {name: _of_deployment(resolved, name) for name in resolved.fleet.deployments}
    for name, service in resolved.fleet.services.items():
        provider = _of_service(resolved, name, service)
        found |= {} if provider is None else {name: provider}
    return found


def _of_deployment(resolved: Resolved, name: str) -> Provider:
    """Return the leader of a group as the provider, because the workers accept no requests."""
    group = hosts_of(resolved.written.deployments[name])
    values = resolved.fleet.deployments[name][group[0]]
    address = bind_address(resolved.fleet.hosts[group[0]], values.bind)
    inside = server_port(values) if len(group) == 1 else None
    endpoint = ListenAddress(name, group[0], address, values.port, inside)
    secret = values.api_key.secret if values.api_key else None
    return Provider(("deployments", name), endpoint, "openai", secret, command.served(values))


def _of_service(resolved: Resolved, name: str, service: ResolvedService) -> Provider | None:
    match service:
        case OpenClawService() | ResolvedOpenWebuiService():
            return None
        case ResolvedHermesAgentService():
            endpoint = _endpoint(resolved, name, service, service.port, inside=None)
            return Provider(("services", name), endpoint, "openai", service.api_key.secret, service.served_names)
        case _ if service.port is None:
            return None
        case _:
            endpoint = _endpoint(resolved, name, service, service.port, inside=service.container_port or service.port)
            ollama = isinstance(service, ResolvedOllamaService)
            models = service.models if isinstance(service, ResolvedOllamaService) else service.served_names
            return Provider(("services", name), endpoint, "ollama" if ollama else "openai", None, models)


def _endpoint(resolved: Resolved, name: str, service: _WithApi, port: int, *, inside: int | None) -> ListenAddress:
    address = bind_address(resolved.fleet.hosts[service.hosts], service.bind)
    return ListenAddress(name, service.hosts, address, port, inside)


def dependencies_of(resolved: Resolved, name: str, known: Mapping[str, Provider]) -> tuple[Dependency, ...]:
    """Return the dependencies of a service, in the order of the inventory. Containers use Ollama's native API."""
    service = resolved.fleet.services[name]
    in_container = not isinstance(service, ResolvedHermesAgentService | OpenClawService)
    return (*_to_fleet(resolved, name, known, in_container=in_container), *_to_urls(name, service))


def _to_fleet(
    resolved: Resolved, name: str, known: Mapping[str, Provider], *, in_container: bool
) -> Iterator[Dependency]:
    service = resolved.fleet.services[name]
    for use in uses.of(("services", name), service.model_dump(include={"uses", "aliases", "model"})):
        provider = known[use.name]
        way = route(service.hosts, provider.endpoint, resolved.fleet.hosts, in_container=in_container)
        yield _dependency(use, provider, way, native=in_container)


def _to_urls(name: str, service: ResolvedService) -> Iterator[Dependency]:
    urls = service.urls if isinstance(service, ResolvedOpenWebuiService) else ()
    for index, url in enumerate(urls):
        found = Dependency(("services", name, "urls", index), url, None, None, None, url.rstrip("/"))
        yield found._replace(gateway=found.hostname == GATEWAY)


def _dependency(use: uses.Use, provider: Provider, way: Route, *, native: bool) -> Dependency:
    api = provider.api if native else "openai"
    return Dependency(
        path=use.path,
        name=use.name,
        target=provider.path,
        host=provider.endpoint.host,
        listen=(provider.endpoint.address, provider.endpoint.port),
        url=None if way.origin is None else way.origin + ("/v1" if api == "openai" else ""),
        obstacle=way.obstacle,
        api=api,
        secret=provider.secret,
        model=use.model or next(iter(provider.models), None),
        network=way.network,
        gateway=way.gateway,
    )
