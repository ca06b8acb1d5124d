"""Plan the container of a service.

Source for Open WebUI: open-webui 0.12.4, config.py. URLs and keys are lists separated by semicolons and paired by
position. An empty list of URLs would mean api.openai.com, so an API that is not used is disabled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac import catalog
from sparkiac.engines.records import ollama
from sparkiac.model.resolved import ResolvedOllamaService, ResolvedOpenWebuiService
from sparkiac.plan import parts
from sparkiac.plan.confinement import Confinement
from sparkiac.plan.container import Checks, Container, ContainerCommand, ContainerNetwork, ModelServer, Storage
from sparkiac.plan.parts import BindMount, Export, Health, Published, Secret, stated_bytes
from sparkiac.plan.topology import GATEWAY_ENTRY, LOOPBACK, bind_address

if TYPE_CHECKING:
    from sparkiac.model.resolved import ResolvedContainerService, ResolvedHost
    from sparkiac.model.services import ServiceKind
    from sparkiac.plan.image import Image
    from sparkiac.plan.parts import Dependency

    Service = ResolvedContainerService | ResolvedOllamaService | ResolvedOpenWebuiService

_SESSION_KEY: Final = "/run/secrets/webui_secret_key"
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
        network=_network(service, published, links),
        confinement=Confinement(
            read_only=service.read_only, gpu=service.gpu and host.gpu is not None, user=service.user
        ),
        storage=_storage(service, name),
        checks=Checks(_health(service, published), service.health, known.speech if known else None),
        timeouts=service.timeouts,
        server=_server(service),
        secrets=_webui_secrets(service, links) if isinstance(service, ResolvedOpenWebuiService) else (),
        dependencies=links,
        memory_bytes=stated_bytes(service.memory_gib),
    )


def _command(service: Service, links: tuple[Dependency, ...]) -> ContainerCommand:
    own = {name: str(value) for name, value in service.env.items()}
    match service:
        case ResolvedOllamaService():
            own |= ollama.environment(service.set)
        case ResolvedOpenWebuiService():
            own = _webui_environment(service, links, own)
    exports = _webui_exports(links) if isinstance(service, ResolvedOpenWebuiService) else ()
    return ContainerCommand(service.command, dict(sorted(own.items())), exports)


def _server(service: Service) -> ModelServer:
    if not isinstance(service, ResolvedOllamaService):
        return ModelServer()
    pulls = tuple(model if ":" in model else f"{model}:latest" for model in service.models)
    return ModelServer(engine="ollama", options=service.set, pulls=pulls)


def _network(service: Service, published: Published | None, links: tuple[Dependency, ...]) -> ContainerNetwork:
    return ContainerNetwork(
        listen=(published.address, published.port) if published else None,
        clients=service.reachable_from,
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


def _webui_environment(
    service: ResolvedOpenWebuiService, links: tuple[Dependency, ...], own: dict[str, str]
) -> dict[str, str]:
    """Return the variables for its dependencies, its `own` variables, and the file with its session key."""
    env = _urls("OPENAI", "OPENAI_API_BASE_URLS", _openai(links))
    env |= _urls("OLLAMA", "OLLAMA_BASE_URLS", [link for link in links if link.api == "ollama"])
    return env | own | ({"WEBUI_SECRET_KEY_FILE": _SESSION_KEY} if service.secret_key else {})


def _webui_exports(links: tuple[Dependency, ...]) -> tuple[Export, ...]:
    """Return the variable with the API keys of its dependencies, if one of them requires a key."""
    keys = tuple(link.secret for link in _openai(links))
    return (Export("OPENAI_API_KEYS", keys),) if any(keys) else ()


def _webui_secrets(service: ResolvedOpenWebuiService, links: tuple[Dependency, ...]) -> tuple[Secret, ...]:
    """Return the API keys of its dependencies and its session key."""
    keys = dict.fromkeys(link.secret for link in _openai(links) if link.secret is not None)
    found = [Secret(name, f"/run/secrets/{name}") for name in keys]
    return (*found, *((Secret(service.secret_key.secret, _SESSION_KEY),) if service.secret_key else ()))


def _openai(links: tuple[Dependency, ...]) -> list[Dependency]:
    """Return its servers with OpenAI's API; routes of one gateway are one of them."""
    return list({link.url: link for link in links if link.api == "openai"}.values())


def _urls(name: str, variable: str, links: list[Dependency]) -> dict[str, str]:
    if not links:
        return {f"ENABLE_{name}_API": "False"}
    return {f"ENABLE_{name}_API": "True", variable: ";".join(link.url or "" for link in links)}
