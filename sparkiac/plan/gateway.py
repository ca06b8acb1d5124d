"""Plan the gateway: HAProxy with one address for the models of the routes.

It uses the network of its host, so that it reaches servers on loopback, and not as root: nftables lets only root reach
a port that is closed. A request is routed by a key of its body, so each body must fit into a buffer; templates/gateway
has the configuration. Keys are files that the program `gateway_keys` writes when the unit starts or reloads.

Memory, measured with HAProxy 2.6.12: a request holds its body twice at most until the server has it, in what it touches
of two buffers; each thread has three buffers of its own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from sparkiac import catalog, engines
from sparkiac.host.preflight.expectations import GatewayKeys
from sparkiac.memory.values import MIB
from sparkiac.model.base import SecretRef
from sparkiac.model.resolved import ResolvedGatewayService, ResolvedOllamaService
from sparkiac.plan.confinement import Confinement
from sparkiac.plan.container import Checks, Container, ContainerCommand, ContainerNetwork, ModelServer, Storage
from sparkiac.plan.parts import BindMount, ConfigDocument, stated_bytes
from sparkiac.plan.services import http_check
from sparkiac.plan.topology import LOOPBACK, bind_address, locally

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.model.resolved import ResolvedFleet
    from sparkiac.model.services import ModelRoute
    from sparkiac.plan.image import Image
    from sparkiac.plan.parts import Dependency

DEFAULT_CLIENT: Final = "default"
"""Name of whoever sends the gateway's own key."""
_KEYS: Final = "/run/gateway"
"""Directory in the container with the keys."""
_CONFIG: Final = "/usr/local/etc/haproxy"
_THREADS: Final = 4
_HEADERS_BYTES: Final = 1 << 16
_SMALL_BYTES: Final = 1 << 17
_SPARE: Final = 64
_LARGE_PART: Final = 16
_BUFFERS: Final = 2
_BUFFERS_OF_THREAD: Final = 3
_PROGRAM_BYTES: Final = 64 * MIB
_CONCURRENT: Final = 64
_WEIGHT: Final = 16
_PATHS: Final = (
    *("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens"),
    "/v1/embeddings",
)


def container(
    name: str, links: tuple[Dependency, ...], routes: Mapping[str, ModelRoute], *, fleet: ResolvedFleet, image: Image
) -> Container:
    """Plan the gateway `name` on its host."""
    service = fleet.services[name]
    assert isinstance(service, ResolvedGatewayService), "its kind says so"  # noqa: S101
    address = bind_address(fleet.hosts[service.hosts], service.bind)
    certificate = service.tls.secret if isinstance(service.tls, SecretRef) else None
    documents, secrets = _documents(service, _routes(routes, links, fleet), f"{locally(address)}:{service.port}")
    directory, encrypted = f"/etc/sparkiac/{name}/config", service.tls is not None
    known = catalog.service_kind(service.kind)
    health = f"http://{LOOPBACK}:{service.metrics_port}{service.health}"
    return Container(
        kind="service",
        name=name,
        description=service.description or (known.valid.title if known else name),
        path=("services", name),
        image=image,
        command=ContainerCommand(("haproxy", "-f", f"{_CONFIG}/haproxy.cfg"), {}),
        network=ContainerNetwork(listen=(address, service.port), host=True),
        confinement=Confinement(read_only=True, gpu=False, user=service.user),
        storage=Storage(
            (
                BindMount(f"/run/sparkiac-{name}/keys", _KEYS, read_only=True),
                BindMount(directory, _CONFIG, read_only=True),
            )
        ),
        checks=Checks(http_check(health), None if encrypted else service.health),
        timeouts=service.timeouts,
        server=ModelServer(served=() if encrypted else service.served_names),
        reloaded=(*secrets, certificate) if certificate else secrets,
        certificate=certificate,
        dependencies=links,
        memory_bytes=stated_bytes(service.memory_gib) or _memory_bytes(service),
        documents=tuple(ConfigDocument(f"{directory[1:]}/{file}", content) for file, content in documents.items()),
    )


def _documents(
    service: ResolvedGatewayService, routes: list[dict[str, Any]], listen: str
) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """Return the files, and the secrets that they name: first the gateway's own key."""
    clients = {service.api_key.secret: DEFAULT_CLIENT}
    clients |= {client.api_key.secret: name for name, client in service.clients.items()}
    servers = sorted({route["secret"] for route in routes if route["secret"]})
    tls = f"/etc/sparkiac/secrets/{service.tls.secret}" if isinstance(service.tls, SecretRef) else service.tls
    keys = GatewayKeys(clients, tuple(servers), tls)._asdict()
    files = {"haproxy.cfg": _configuration(service, routes, listen), "usage.lua": {}, "keys.json": keys}
    return files, tuple(dict.fromkeys((*clients, *servers)))


def _large(service: ResolvedGatewayService) -> int:
    return max(service.max_connections // _LARGE_PART, 1)


def _memory_bytes(service: ResolvedGatewayService) -> int:
    """Return the memory of as many large and small bodies as it accepts."""
    large, body = _large(service), service.max_body_mib * MIB
    small = (service.max_connections - large) * min(_SMALL_BYTES, body)
    return _PROGRAM_BYTES + _BUFFERS * (large * body + small) + _THREADS * _BUFFERS_OF_THREAD * body


def _configuration(service: ResolvedGatewayService, routes: list[dict[str, Any]], listen: str) -> dict[str, Any]:
    """Return what the template of haproxy.cfg needs."""
    offered = [{"id": alias, "object": "model", "owned_by": "sparkiac"} for alias in service.served_names]
    return {
        "listen": listen,
        "metrics": f"{LOOPBACK}:{service.metrics_port}",
        "keys": _KEYS,
        "config": _CONFIG,
        "tls": service.tls is not None,
        "threads": _THREADS,
        "max_connections": service.max_connections,
        "spare": _SPARE,
        "large": _large(service),
        "small_bytes": _SMALL_BYTES,
        "max_body_mib": service.max_body_mib,
        "max_body_bytes": service.max_body_mib * MIB,
        "buffer_bytes": service.max_body_mib * MIB + _HEADERS_BYTES,
        "clients": [{"name": name, **client.model_dump()} for name, client in service.clients.items()],
        "default_client": DEFAULT_CLIENT,
        "models": json.dumps({"object": "list", "data": offered}),
        "paths": _PATHS,
        "routes": routes,
    }


def _routes(
    routes: Mapping[str, ModelRoute], links: tuple[Dependency, ...], fleet: ResolvedFleet
) -> list[dict[str, Any]]:
    """Return the routes with the servers that can be reached."""
    found = []
    for number, (alias, route) in enumerate(routes.items(), 1):
        own = [link for link in links if link.path[1] == alias and link.url is not None]
        paths = {_health(link.name, fleet) for link in own}
        limits = (route.limits.concurrent or _concurrent(link.name, fleet) for link in own)
        found.append(
            {
                "alias": alias,
                # Variable of HAProxy, whose name cannot have every character of an alias.
                "proven": f"accepted_{number}",
                "secret": next((link.secret for link in own if link.secret), None),
                # Servers of different engines have different paths; then a connection must do.
                "health": paths.pop() if len(paths) == 1 else None,
                "waiting": route.limits.waiting,
                "servers": list(_servers(route, own, limits)),
            }
        )
    return found


def _servers(route: ModelRoute, links: list[Dependency], limits: Iterator[int]) -> Iterator[dict[str, Any]]:
    for link, concurrent in zip(links, limits, strict=True):
        yield {
            "name": link.name,
            "address": (link.url or "").split("/")[2],
            "weight": _WEIGHT * route.weights.get(link.name, 1),
            "concurrent": concurrent,
            "backup": link.name in route.fallback,
        }


def _health(name: str, fleet: ResolvedFleet) -> str | None:
    service = fleet.services.get(name)
    if service is not None:
        return service.health if isinstance(service, ResolvedOllamaService) else None
    return engines.named(next(iter(fleet.deployments[name].values())).engine).health


def _concurrent(name: str, fleet: ResolvedFleet) -> int:
    """Return how many requests a server runs at once: what its engine is told, or a guess."""
    if name not in fleet.deployments:
        return _CONCURRENT
    values = next(iter(fleet.deployments[name].values()))
    option = engines.named(values.engine).of_vllm.get("max_num_seqs", "max_num_seqs")
    found = values.set.get(option)
    return found if isinstance(found, int) and found > 0 else _CONCURRENT
