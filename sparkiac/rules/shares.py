"""What the rules about memory and groups share: engines with their share of the memory, and the nodes of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac import engines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan

_SM_121: Final = "12.1"


def sparks(plan: Plan) -> Iterator[HostPlan]:
    """Give the hosts whose GPU shares the machine's memory as that of a DGX Spark does."""
    return (host for host in plan.hosts if host.gpu is not None and host.gpu.compute_capability == _SM_121)


def models(plan: Plan) -> Iterator[tuple[HostPlan, Container]]:
    """Give every deployment on such a host, of a group each node."""
    return ((host, each) for host in sparks(plan) for each in host.containers if each.kind == "deployment")


def nodes(plan: Plan) -> Iterator[tuple[HostPlan, Container]]:
    """Give the nodes of groups."""
    return ((host, each) for host, each in models(plan) if each.server.node is not None)


def share(container: Container) -> tuple[str, float] | None:
    """Give the option that bounds an engine's memory, and its value, if both are known."""
    option = engines.named(container.server.engine).memory_share if container.server.engine else None
    value = container.server.options.get(option or "")
    return None if option is None or value is None else (option, float(value))
