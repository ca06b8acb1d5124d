"""The common parts of all objects, and their Service and NetworkPolicy.

`bind` and `reachable_from` decide who reaches a port.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_interface, ip_network
from typing import Any, Final, NamedTuple

from sparkiac.plan import Container, HostPlan
from sparkiac.plan.topology import EVERY, LOOPBACK
from sparkiac.render import yamltext
from sparkiac.report.artifact import Artifact

NAME: Final = "app.kubernetes.io/name"
"""Label that selects the pods of a deployment or service."""
SECRETS: Final = "sparkiac"
"""The Secret with all secrets of an inventory: its keys are their names in the inventory."""
_RANK: Final = {"leaderworkerset.sigs.k8s.io/worker-index": "0"}
"""Label of the pod that leads a group."""


class KubernetesError(ValueError):
    """Kubernetes cannot express this."""


class Node(NamedTuple):
    """A container and its host."""

    host: HostPlan
    container: Container


def labels(name: str) -> dict[str, str]:
    """Return the labels of the objects of one deployment or service."""
    return {NAME: name, "app.kubernetes.io/managed-by": "sparkiac"}


def selector(name: str) -> dict[str, dict[str, str]]:
    """Return the selector of the pods of one deployment or service."""
    return {"matchLabels": {NAME: name}}


def head(version: str, kind: str, name: str, labelled: str) -> dict[str, Any]:
    """Return the first keys of an object; `labelled` is the deployment or service that it belongs to."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": labels(labelled)}}


def artifact(path: str, data: dict[str, Any]) -> Artifact:
    """Return the file of an object."""
    return Artifact(path, yamltext.generated(data))


def without_empty(data: dict[str, Any]) -> dict[str, Any]:
    """Return a mapping without its empty values."""
    return {key: value for key, value in data.items() if value not in (None, "", [], {})}


def is_reachable(node: Node) -> bool:
    """Return whether a Service reaches the server: the leader of a group must listen on the address of its node."""
    listen = node.container.network.listen
    if listen is None or node.container.network.published is not None:
        return listen is not None
    return listen[0] in {node.host.address, EVERY}


def service(container: Container) -> dict[str, Any]:
    """Return the Service of a container that is reachable.

    It has the port of the inventory and, if another one, the port in the container, which containers of one host use.
    """
    listen, published = container.network.listen, container.network.published
    assert listen is not None, "it is reachable"  # noqa: S101
    name, selected = container.name, {NAME: container.name}
    if published is None:
        # LeaderWorkerSet creates a Service of its own with the name of the group, for the names of the pods.
        name, selected = f"{name}-leader", selected | _RANK
    target = published.container_port if published else listen[1]
    ports = {"http": listen[1]} | ({} if target == listen[1] else {"container": target})
    entries = [{"name": key, "port": port, "targetPort": target, "protocol": "TCP"} for key, port in ports.items()]
    spec = {"type": "ClusterIP", "selector": selected, "ports": entries}
    return head("v1", "Service", name, container.name) | {"spec": spec}


def policy(node: Node, users: Iterable[str]) -> dict[str, Any]:
    """Return the NetworkPolicy; `users` are the deployments and services that use this one."""
    container = node.container
    ingress = _ingress(container, node.host, list(users))
    spec = {"podSelector": selector(container.name), "policyTypes": ["Ingress"], "ingress": ingress}
    return head("networking.k8s.io/v1", "NetworkPolicy", container.name, container.name) | {"spec": spec}


def _ingress(container: Container, host: HostPlan, users: list[str]) -> list[dict[str, Any]]:
    """Return the allowed clients: the pods that use it, and its list, or the networks of its address."""
    published, listed = container.network.published, host.clients.get(container.unit)
    if published is None:
        return []
    ports = [{"port": published.container_port, "protocol": "TCP"}]
    peers: list[dict[str, Any]] = [{"podSelector": selector(user)} for user in users]
    if listed is not None:
        networks = (*listed.listed, *(address for each in listed.hosts.values() for address in each))
        peers += [{"ipBlock": {"cidr": str(ip_network(network))}} for network in networks]
    elif published.address in {host.address, EVERY}:
        return [{"ports": ports}]
    elif published.address != LOOPBACK:
        peers += [{"ipBlock": {"cidr": network}} for network in _networks(host, published.address)]
    return [{"from": peers, "ports": ports}] if peers else []


def _networks(host: HostPlan, address: str) -> list[str]:
    """Return the network of the link with this address."""
    links = (ip_interface(link.address) for link in host.links)
    return sorted({str(link.network) for link in links if str(link.ip) == address})
