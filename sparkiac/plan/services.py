"""Plan the container of a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac import catalog
from sparkiac.engines.records import ollama
from sparkiac.model.resolved import ResolvedOllamaService, ResolvedOpenWebuiService
from sparkiac.plan import clients, parts
from sparkiac.plan.confinement import Confinement
from sparkiac.plan.container import Checks, Container, ContainerCommand, ContainerNetwork, ModelServer, Storage
from sparkiac.plan.parts import BindMount, Health, Published, stated_bytes
from sparkiac.plan.topology import GATEWAY_ENTRY, LOOPBACK, bind_address

if TYPE_CHECKING:
    from sparkiac.model.resolved import ResolvedContainerService, ResolvedHost
    from sparkiac.model.services import ServiceKind
    from sparkiac.plan.image import Image
    from sparkiac.plan.parts import Dependency

    Service = ResolvedContainerService | ResolvedOllamaService | ResolvedOpenWebuiService

_CLIENTS: Final = (
    "curl -fsS -m 4 {url} >/dev/null",
    "wget -q -T 4 -O /dev/null {url}",
    "python3 -c \"import urllib.request as r; r.urlopen('{url}', timeout=4)\"",
)
"""Health check commands, tried in this order until one succeeds. The URL contains no character special to a shell."""


def container(
    name: str, service: Service, links: tuple[Dependency, ...], *, host: ResolvedHost, image: Image
) -> Container:
    """Plan the container of service `name` on its host."""
    published = _published(service, host)
    known = _kind(service.kind)
    return Container(
        kind="service",
        name=name,
        description=service.description or (known.title if known else name),
        path=("services", name),
        image=image,
        command=_command(service, links),
        network=_network(published, links),
        confinement=Confinement(
            read_only=service.read_only, gpu=service.gpu and host.gpu is not None, user=service.user
        ),
        storage=_storage(service, name),
        checks=Checks(_health(service, published), service.health, known.speech if known else None),
        timeouts=service.timeouts,
        server=_server(service),
        secrets=clients.webui_secrets(service, links) if isinstance(service, ResolvedOpenWebuiService) else (),
        dependencies=links,
        memory_bytes=stated_bytes(service.memory_gib),
    )


def _command(service: Service, links: tuple[Dependency, ...]) -> ContainerCommand:
    own = {name: str(value) for name, value in service.env.items()}
    match service:
        case ResolvedOllamaService():
            own |= ollama.environment(service.set)
        case ResolvedOpenWebuiService():
            own = clients.webui_environment(service, links, own)
    exports = clients.webui_exports(links) if isinstance(service, ResolvedOpenWebuiService) else ()
    return ContainerCommand(service.command, dict(sorted(own.items())), exports)


def _server(service: Service) -> ModelServer:
    if not isinstance(service, ResolvedOllamaService):
        return ModelServer()
    pulls = tuple(model if ":" in model else f"{model}:latest" for model in service.models)
    return ModelServer(engine="ollama", options=service.set, pulls=pulls)


def _network(published: Published | None, links: tuple[Dependency, ...]) -> ContainerNetwork:
    return ContainerNetwork(
        listen=(published.address, published.port) if published else None,
        published=published,
        extra_hosts=(GATEWAY_ENTRY,) if any(link.gateway for link in links) else (),
    )


def _published(service: Service, host: ResolvedHost) -> Published | None:
    if service.port is None:
        return None
    return Published(bind_address(host, service.bind), service.port, service.container_port or service.port)


def _kind(name: str) -> ServiceKind | None:
    known = catalog.service_kind(name)
    return known.value if known else None


def _storage(service: Service, name: str) -> Storage:
    """Return the mounts, including a directory on the host for persistent data unless the user mounts one."""
    found = parts.mounts(service.mounts, store=service.model_store)
    data = None
    if service.data is not None and service.data not in service.mounts:
        data = f"/var/lib/sparkiac/{name}"
        found.append(BindMount(data, service.data, read_only=False))
    return Storage(mounts=tuple(sorted(found, key=lambda mount: mount.target)), data=data)


def _health(service: Service, published: Published | None) -> Health | None:
    """Return the health check: the command of the kind, or a request with an HTTP client of the image."""
    if service.healthcheck is not None:
        return Health(("CMD", *service.healthcheck), interval_s=15, timeout_s=10) if service.healthcheck else None
    if service.health is None or published is None:
        return None
    return http_check(f"http://{LOOPBACK}:{published.container_port}{service.health}")


def http_check(url: str) -> Health:
    """Return a health check that requests a URL with the first HTTP client that the image has."""
    commands = " || ".join(client.format(url=url) for client in _CLIENTS)
    return Health(("CMD-SHELL", commands), interval_s=15, timeout_s=15)
