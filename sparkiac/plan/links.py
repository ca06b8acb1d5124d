"""What services ask of each other: offers on one side, links on the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sparkiac.plan.addresses import bind_address
from sparkiac.plan.askers import Link
from sparkiac.plan.topology import GATEWAY, Endpoint, Route, route
from sparkiac.resolve import uses
from sparkiac.resolve.services import served

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sparkiac.plan.values import Container
    from sparkiac.report import Path
    from sparkiac.resolve import Resolved


class Offer(NamedTuple):
    """A deployment or service that others can ask."""

    path: Path
    """Where the inventory describes it."""
    endpoint: Endpoint
    api: str
    """`openai`, or `ollama`, which answers as both."""
    secret: str | None
    models: tuple[str, ...]


def offers(resolved: Resolved, containers: Iterable[tuple[str, Container]]) -> dict[str, Offer]:
    """Give everything that can be asked, by name. Nodes of a group that do not lead answer nobody."""
    found: dict[str, Offer] = {}
    for host, container in containers:
        if container.listen is not None:
            inside = container.published.container_port if container.published else None
            endpoint = Endpoint(container.name, host, *container.listen, inside)
            secret = container.secrets[0].name if container.secrets else None
            api = "ollama" if container.engine == "ollama" else "openai"
            models = container.served or served(resolved.values, container.name)
            found[container.name] = Offer(container.path, endpoint, api, secret, models)
    for name, values in resolved.values.get("services", {}).items():
        if values["kind"] == uses.AGENT:
            address = bind_address(resolved.values["hosts"][values["on"]], values["bind"])
            endpoint = Endpoint(name, values["on"], address, values["port"], None)
            key = values["api_key"]["secret"]
            found[name] = Offer(("services", name), endpoint, "openai", key, values["served_names"])
    return found


def links(resolved: Resolved, name: str, known: Mapping[str, Offer], *, in_container: bool) -> tuple[Link, ...]:
    """Give what the service `name` asks, in the order of the inventory. A container speaks to Ollama in its own way."""
    values: dict[str, Any] = resolved.values["services"][name]
    hosts: Mapping[str, Any] = resolved.values["hosts"]
    found = []
    for use in uses.of(("services", name), values):
        offer = known[use.name]
        way = route(values["on"], offer.endpoint, hosts, in_container=in_container)
        found.append(_link(use, offer, way, native=in_container))
    given = enumerate(values.get("urls", ()))
    return (*found, *(_given(("services", name, "urls", index), url) for index, url in given))


def _link(use: uses.Use, offer: Offer, way: Route, *, native: bool) -> Link:
    api = offer.api if native else "openai"
    return Link(
        path=use.path,
        name=use.name,
        target=offer.path,
        host=offer.endpoint.host,
        listen=(offer.endpoint.address, offer.endpoint.port),
        url=None if way.origin is None else way.origin + ("/v1" if api == "openai" else ""),
        obstacle=way.obstacle,
        api=api,
        secret=offer.secret,
        model=use.model or next(iter(offer.models), None),
        network=way.network,
        gateway=way.gateway,
    )


def _given(path: Path, url: str) -> Link:
    link = Link(path, url, None, None, None, url.rstrip("/"))
    return link._replace(gateway=link.hostname == GATEWAY)
