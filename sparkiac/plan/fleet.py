"""Services beside the deployments: each is placed on its host, and told how to reach what it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sparkiac.plan import hermes, openclaw, services
from sparkiac.plan.links import links, offers
from sparkiac.plan.topology import NETWORK

if TYPE_CHECKING:
    from sparkiac.plan.askers import Document, Program
    from sparkiac.plan.values import Container
    from sparkiac.resolve import Resolved

_OUTSIDE = frozenset({"hermes-agent", "openclaw"})
"""Kinds that run in no container."""


class Placed(NamedTuple):
    """What is on one host, each sorted by name."""

    containers: tuple[Container, ...]
    programs: tuple[Program, ...]
    documents: tuple[Document, ...]


def placed(resolved: Resolved, deployed: tuple[tuple[str, Container], ...]) -> dict[str, Placed]:
    """Add the services to the deployments, by host."""
    wanted = resolved.values.get("services", {})
    plain = [(each["on"], name) for name, each in wanted.items() if each["kind"] not in {*_OUTSIDE, "open-webui"}]
    containers = [*deployed, *((host, services.container(resolved, name)) for host, name in plain)]
    known = offers(resolved, containers)
    found = {host: Placed((), (), ()) for host in resolved.values["hosts"]}
    for name, values in wanted.items():
        asked = links(resolved, name, known, in_container=values["kind"] not in _OUTSIDE)
        here = found[values["on"]]
        match values["kind"]:
            case "hermes-agent":
                more = here._replace(programs=(*here.programs, hermes.program(resolved, name, asked)))
            case "openclaw":
                more = here._replace(documents=(*here.documents, openclaw.document(resolved, name, asked)))
            case "open-webui":
                containers.append((values["on"], services.container(resolved, name, asked)))
                continue
            case _:
                continue
        found[values["on"]] = more
    for host, container in sorted(_joined(containers), key=lambda each: each[1].name):
        found[host] = found[host]._replace(containers=(*found[host].containers, container))
    return found


def _joined(containers: list[tuple[str, Container]]) -> list[tuple[str, Container]]:
    """Put just those containers on the shared network that ask each other on their host."""
    joined = set[str]()
    for _, container in containers:
        asked = [link.name for link in container.links if link.network]
        joined |= {container.name, *asked} if asked else set()
    return [
        (host, container._replace(network=NETWORK) if container.name in joined else container)
        for host, container in containers
    ]
