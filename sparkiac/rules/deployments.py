"""The hosts, links and deployments that rules look at, and what several rules read of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sparkiac import engines
from sparkiac.host.conditions import quantity
from sparkiac.memory.values import Unknown
from sparkiac.plan import Container, FabricLink, HostPlan, Plan
from sparkiac.plan.parts import Proof
from sparkiac.report import Path
from sparkiac.report.placeholders import is_placeholder


def sparks(plan: Plan) -> Iterator[HostPlan]:
    """Return the hosts with unified memory, such as a DGX Spark."""
    return (host for host in plan.hosts if host.gpu is not None and host.gpu.unified_memory)


def views(plan: Plan) -> Iterator[HostPlan]:
    """Return these hosts in each of their turns, with only what runs together."""
    return (view for host in sparks(plan) for view in host.views)


def in_turn(host: HostPlan) -> str:
    """Return the turn of a view of a host, to follow its name in a sentence; empty for a host without turns."""
    return f" in the turn {host.turn}" if host.turn else ""


def links(plan: Plan) -> Iterator[tuple[HostPlan, FabricLink, Path]]:
    """Return every high-speed link with its host and its path in the inventory."""
    for host in plan.hosts:
        for index, link in enumerate(host.links):
            yield host, link, ("hosts", host.name, "fabric", "links", index)


def no_route(obstacle: str | None) -> str:
    """Return why one host cannot reach a server of another."""
    return "only that host can reach it" if obstacle == "loopback" else "the two hosts share no fabric"


def models(plan: Plan) -> Iterator[tuple[HostPlan, Container]]:
    """Return every deployment on such a host; for a group, each node."""
    return ((host, each) for host in sparks(plan) for each in host.containers if each.kind == "deployment")


def nodes(plan: Plan) -> Iterator[tuple[HostPlan, Container]]:
    """Return the nodes of groups."""
    return ((host, each) for host, each in models(plan) if each.server.node is not None)


def groups(plan: Plan) -> Iterable[list[tuple[HostPlan, Container]]]:
    """Return the nodes of each group."""
    found: dict[str, list[tuple[HostPlan, Container]]] = {}
    for host, container in nodes(plan):
        found.setdefault(container.name, []).append((host, container))
    return found.values()


def nccl_nodes(plan: Plan) -> Iterator[tuple[HostPlan, Container]]:
    """Return the nodes of groups that exchange data through NCCL."""
    found = ((host, each, engines.named(each.server.engine).groups) for host, each in nodes(plan))
    return ((host, each) for host, each, groups in found if groups is not None and groups.nccl)


def deployments(plan: Plan) -> Iterator[tuple[HostPlan, Container]]:
    """Return the vLLM deployments on such hosts; for a group, its leader."""
    return vllm_leaders(models(plan))


def vllm_leaders(found: Iterable[tuple[HostPlan, Container]]) -> Iterator[tuple[HostPlan, Container]]:
    """Return the containers that run vLLM; for a group only its leader."""
    leaders = ((host, each) for host, each in found if each.server.leads)
    return ((host, each) for host, each in leaders if engines.named(each.server.engine).interfaces)


def certain(plan: Plan) -> Iterator[tuple[HostPlan, Container, Proof]]:
    """Return the deployments whose memory is calculated without assumptions."""
    return (each for each in proven(plan) if each[2].assumption is None)


def proven(plan: Plan) -> Iterator[tuple[HostPlan, Container, Proof]]:
    """Return each deployment with its memory calculation; a group counts once, because all its nodes use the same."""
    for host, container in models(plan):
        if container.server.leads:
            yield host, container, host.proofs[container.name]


def count(container: Container, option: str) -> int | None:
    """Return the integer value of an option; None if it is not set."""
    found = quantity(container.server.options.get(option))
    return None if found is None else int(found)


class Share(NamedTuple):
    """The share of a host's memory that an engine uses."""

    option: str
    value: float
    default: str = ""
    """The origin of the value if the option is not set, to follow the value in a sentence."""


def share(host: HostPlan, container: Container) -> Share | None:
    """Return the share of the memory that an engine uses: the value set, or vLLM's default; None if unknown."""
    option = engines.named(container.server.engine).memory_share
    value = container.server.options.get(option or "")
    if option is None or container.server.options.get("kv_cache_memory_bytes") is not None:
        return None
    if value is not None:
        return Share(option, float(value))
    options = host.proofs[container.name].options
    if is_placeholder(container.image.reference) or isinstance(options, Unknown):
        return None
    known = container.image.vllm
    release = f"of vLLM {known}" if known else "from vLLM 0.20.0 on (the release in the image is unknown)"
    return Share(option, options.gpu_memory_utilization, f", the default {release}")
