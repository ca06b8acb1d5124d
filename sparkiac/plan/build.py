"""Resolved values → plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkiac.plan import deployments, services
from sparkiac.plan.preflight import expectations
from sparkiac.plan.values import GIB, HostPlan, Plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan.values import Container
    from sparkiac.resolve import Resolved


def build(resolved: Resolved) -> Plan:
    """Decide everything that is left. `resolved` has no errors."""
    assert resolved.inventory.value is not None  # noqa: S101
    by_host: dict[str, list[Container]] = {name: [] for name in resolved.values["hosts"]}
    for host, container in _containers(resolved):
        by_host[host].append(container)
    hosts = tuple(
        _host(name, values, tuple(sorted(by_host[name], key=lambda container: container.name)))
        for name, values in sorted(resolved.values["hosts"].items())
    )
    return Plan(resolved.inventory.value.name, hosts)


def _containers(resolved: Resolved) -> Iterator[tuple[str, Container]]:
    for name, nodes in resolved.values.get("deployments", {}).items():
        for host in nodes:
            yield host, deployments.container(resolved, name=name, host=host)
    for name, values in resolved.values.get("services", {}).items():
        yield values["on"], services.container(resolved, name=name)


def _host(name: str, values: dict[str, Any], containers: tuple[Container, ...]) -> HostPlan:
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
        preflight=expectations(name, values, containers, memory_bytes=memory_bytes),
    )
