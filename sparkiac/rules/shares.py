"""Helpers for rules about memory and groups: the memory share of each engine, and the nodes of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac import engines
from sparkiac.memory.values import Unknown
from sparkiac.resolve import fabric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan

_SM_121: Final = "12.1"


def sparks(plan: Plan) -> Iterator[HostPlan]:
    """Return the hosts with unified memory, such as a DGX Spark."""
    return (host for host in plan.hosts if host.gpu is not None and host.gpu.compute_capability == _SM_121)


def views(plan: Plan) -> Iterator[HostPlan]:
    """Return these hosts in each of their turns, with only what runs together."""
    return (view for host in sparks(plan) for view in host.views)


def in_turn(host: HostPlan) -> str:
    """Return the turn of a view of a host, to follow its name in a sentence; empty for a host without turns."""
    return f" in the turn {host.turn}" if host.turn else ""


def models(plan: Plan) -> Iterator[tuple[HostPlan, Container]]:
    """Return every deployment on such a host; for a group, each node."""
    return ((host, each) for host in sparks(plan) for each in host.containers if each.kind == "deployment")


def nodes(plan: Plan) -> Iterator[tuple[HostPlan, Container]]:
    """Return the nodes of groups."""
    return ((host, each) for host, each in models(plan) if each.server.node is not None)


def nccl_nodes(plan: Plan) -> Iterator[tuple[HostPlan, Container]]:
    """Return the nodes of groups that exchange data through NCCL."""
    return ((host, each) for host, each in nodes(plan) if each.server.executor in fabric.NCCL)


class Share(NamedTuple):
    """The share of a host's memory that an engine uses."""

    option: str
    value: float
    default: str = ""
    """The origin of the value if the option is not set, to follow the value in a sentence."""


def share(host: HostPlan, container: Container) -> Share | None:
    """Return the share of the memory that an engine uses: the value set, or vLLM's default; None if unknown."""
    option = engines.named(container.server.engine).memory_share if container.server.engine else None
    value = container.server.options.get(option or "")
    if option is None:
        return None
    if value is not None:
        return Share(option, float(value))
    options = host.proofs[container.name].options
    if isinstance(options, Unknown) or options.kv_cache_memory_bytes is not None:
        return None
    known = container.image.vllm
    release = f"of vLLM {known}" if known else "from vLLM 0.20.0 on (the release in the image is unknown)"
    return Share(option, options.gpu_memory_utilization, f", the default {release}")
