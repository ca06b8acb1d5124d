"""Resolved values → plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkiac.plan import builds, deployments, fleet
from sparkiac.plan.order import starts
from sparkiac.plan.parts import GIB
from sparkiac.plan.preflight import expectations
from sparkiac.plan.values import HostPlan, Plan
from sparkiac.resolve import DEFAULT_PLATFORM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan.askers import Document, Program
    from sparkiac.plan.values import Container
    from sparkiac.resolve import Resolved


def build(resolved: Resolved) -> Plan:
    """Decide everything that is left. `resolved` has no errors."""
    assert resolved.inventory.value is not None  # noqa: S101
    placed = fleet.placed(resolved, tuple(_deployments(resolved)))
    named = {name: host.platform or DEFAULT_PLATFORM for name, host in resolved.inventory.value.hosts.items()}
    hosts = tuple(
        _host(name, named[name], values, placed[name]) for name, values in sorted(resolved.values["hosts"].items())
    )
    order = starts({host.name: host.units for host in hosts})
    hosts = tuple(host._replace(starts=order[host.name]) for host in hosts)
    return Plan(resolved.inventory.value.name, hosts, tuple(builds.used(resolved)))


def _deployments(resolved: Resolved) -> Iterator[tuple[str, Container]]:
    for name, nodes in resolved.values.get("deployments", {}).items():
        for host in nodes:
            yield host, deployments.container(resolved, name=name, host=host)


def _host(
    name: str,
    platform_name: str,
    values: dict[str, Any],
    placed: tuple[tuple[Container, ...], tuple[Program, ...], tuple[Document, ...]],
) -> HostPlan:
    containers, programs, documents = placed
    memory_gib = values.get("memory_gib")
    memory_bytes = None if memory_gib is None else int(memory_gib * GIB)
    return HostPlan(
        name=name,
        address=values["address"],
        user=values.get("ssh", {}).get("user"),
        ssh_port=values.get("ssh", {}).get("port"),
        platform=values["title"],
        architecture=values["architecture"],
        driver=values.get("driver"),
        memory_bytes=memory_bytes,
        sysctls={key: str(value) for key, value in sorted(values.get("sysctl", {}).items())},
        containers=containers,
        preflight=expectations(name, values, containers, programs, memory_bytes=memory_bytes),
        programs=programs,
        documents=documents,
        platform_name=platform_name,
        gpu=values.get("gpu"),
        links=tuple(values.get("fabric", {}).get("links", ())),
    )
