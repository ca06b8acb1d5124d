"""Which services use which deployments and services, and at which URL they reach them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sparkiac.model.resolved import (
    ResolvedContainerService,
    ResolvedDeployment,
    ResolvedFleet,
    ResolvedGatewayService,
    ResolvedHermesAgentService,
    ResolvedHost,
    ResolvedOllamaService,
    ResolvedOpenWebuiService,
    ResolvedService,
)
from sparkiac.model.services import ModelRoute, OpenClawService
from sparkiac.plan import command, topology
from sparkiac.plan.parts import Dependency, server_port
from sparkiac.plan.topology import GATEWAY, ListenAddress, bind_address, route
from sparkiac.report import Path
from sparkiac.resolve import uses

_WithApi = ResolvedContainerService | ResolvedOllamaService | ResolvedHermesAgentService | ResolvedGatewayService


class Provider(NamedTuple):
    """A deployment or service with an API that others can use."""

    path: Path
    """Path of its definition in the inventory."""
    endpoint: ListenAddress
    api: str
    """`openai`, or `ollama`, which serves both APIs."""
    secret: str | None
    models: tuple[str, ...]
    tls: bool = False


def providers(fleet: ResolvedFleet, leaders: Mapping[str, str]) -> dict[str, Provider]:
    """Return every deployment and service with an API, by name; `leaders` has the first host of each deployment."""
    found = {name: _of_deployment(name, leaders[name], nodes, fleet.hosts) for name, nodes in fleet.deployments.items()}
    for name, service in fleet.services.items():
        provider = _of_service(name, service, fleet.hosts)
        found |= {} if provider is None else {name: provider}
    return found


def _of_deployment(
    name: str, leader: str, nodes: Mapping[str, ResolvedDeployment], hosts: Mapping[str, ResolvedHost]
) -> Provider:
    """Return the leader of a group as the provider, because the workers accept no requests."""
    values = nodes[leader]
    address = bind_address(hosts[leader], values.bind)
    inside = server_port(values) if len(nodes) == 1 else None
    endpoint = ListenAddress(name, leader, address, values.port, inside)
    secret = values.api_key.secret if values.api_key else None
    return Provider(("deployments", name), endpoint, "openai", secret, command.served(values))


def _of_service(name: str, service: ResolvedService, hosts: Mapping[str, ResolvedHost]) -> Provider | None:
    match service:
        case OpenClawService() | ResolvedOpenWebuiService():
            return None
        case ResolvedHermesAgentService():
            endpoint = _endpoint(name, service, service.port, hosts, inside=None)
            return Provider(("services", name), endpoint, "openai", service.api_key.secret, service.served_names)
        case ResolvedGatewayService():
            endpoint = _endpoint(name, service, service.port, hosts, inside=None)
            key = service.api_key.secret
            return Provider(
                ("services", name), endpoint, "openai", key, service.served_names, tls=service.tls is not None
            )
        case _ if service.port is None:
            return None
        case _:
            inside = service.container_port or service.port
            endpoint = _endpoint(name, service, service.port, hosts, inside=inside)
            ollama = isinstance(service, ResolvedOllamaService)
            models = service.models if isinstance(service, ResolvedOllamaService) else service.served_names
            return Provider(("services", name), endpoint, "ollama" if ollama else "openai", None, models)


def _endpoint(
    name: str, service: _WithApi, port: int, hosts: Mapping[str, ResolvedHost], *, inside: int | None
) -> ListenAddress:
    address = bind_address(hosts[service.hosts], service.bind)
    return ListenAddress(name, service.hosts, address, port, inside)


def dependencies(
    fleet: ResolvedFleet, known: Mapping[str, Provider], routes: Mapping[str, ModelRoute]
) -> dict[str, tuple[Dependency, ...]]:
    """Return the dependencies of each service, in the order of the inventory."""
    gateways = (known[name] for name, service in fleet.services.items() if isinstance(service, ResolvedGatewayService))
    aliases = {alias: each._replace(models=(alias,)) for each in [*gateways][:1] for alias in routes}
    written = {alias: route.model_dump(include={"to", "fallback"}) for alias, route in routes.items()}
    return {
        name: (*_to_fleet(name, service, {**aliases, **known}, fleet.hosts, written), *_to_urls(name, service))
        for name, service in fleet.services.items()
    }


def _to_fleet(
    name: str,
    service: ResolvedService,
    known: Mapping[str, Provider],
    hosts: Mapping[str, ResolvedHost],
    routes: dict[str, Any],
) -> Iterator[Dependency]:
    # Only containers can use Ollama's own API: the agents on the host speak OpenAI's.
    in_container = not isinstance(service, ResolvedHermesAgentService | OpenClawService | ResolvedGatewayService)
    own = uses.of(("services", name), service.model_dump(include={"uses", "aliases", "model"}))
    for use in uses.of_routes(routes) if isinstance(service, ResolvedGatewayService) else own:
        provider = known[use.name]
        way = route(service.hosts, provider.endpoint, hosts, in_container=in_container)
        yield _dependency(use, provider, way, native=in_container)


def _to_urls(name: str, service: ResolvedService) -> Iterator[Dependency]:
    urls = service.urls if isinstance(service, ResolvedOpenWebuiService) else ()
    for index, url in enumerate(urls):
        found = Dependency(("services", name, "urls", index), url, None, None, None, url.rstrip("/"))
        yield found._replace(gateway=found.hostname == GATEWAY)


def _dependency(use: uses.Use, provider: Provider, way: topology.Route, *, native: bool) -> Dependency:
    api = provider.api if native else "openai"
    origin = way.origin.replace("http:", "https:", 1) if way.origin and provider.tls else way.origin
    return Dependency(
        path=use.path,
        name=provider.endpoint.name,
        target=provider.path,
        host=provider.endpoint.host,
        listen=(provider.endpoint.address, provider.endpoint.port),
        url=None if origin is None else origin + ("/v1" if api == "openai" else ""),
        obstacle=way.obstacle,
        api=api,
        secret=provider.secret,
        model=use.model or next(iter(provider.models), None),
        network=way.network,
        gateway=way.gateway,
    )
