"""The pod template of one container, with its probes, and the Deployment of a container that is in no group."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from sparkiac.plan import Container, Health, HostPlan, confinement
from sparkiac.plan.links import is_address
from sparkiac.plan.parts import UNLOCKED
from sparkiac.plan.topology import EVERY, GATEWAY, GATEWAY_ENTRY
from sparkiac.render import compose, escape
from sparkiac.render.compose import RETRIES, START_INTERVAL_S
from sparkiac.render.kubernetes import objects, volumes
from sparkiac.render.kubernetes.objects import Node
from sparkiac.report.artifact import Artifact

HOSTNAME: Final = "kubernetes.io/hostname"
_CHECKSUM: Final = "sparkiac/files"
"""Annotation with a hash of the pod's files: the pods restart when a file changes."""
_ID_LENGTH: Final = 12
"""Characters of an image ID that Docker shows."""
_PULL_S: Final = 600
"""Time for pulling the image, before Kubernetes reports the rollout as failed: its own default for all of it."""
_READY_PERIOD_S: Final = 5
_READY_TIMEOUT_S: Final = 5


class Process(NamedTuple):
    """How the process of a pod starts; `$` is encoded, except in references to variables of the pod."""

    command: list[str] | None
    args: list[str] | None
    env: list[dict[str, Any]]


class Files(NamedTuple):
    """Files of a pod that are ConfigMaps."""

    artifacts: tuple[Artifact, ...]
    """All of them."""
    promise: str = "promise.json"
    """Key of its promise."""
    has_nodes: bool = False
    """Whether there is a file for each node of its group."""


def process(container: Container) -> Process:
    """Return how a container starts."""
    return Process(encoded(compose.entrypoint(container)), encoded(compose.command(container)), variables(container))


def encoded(words: list[str] | None) -> list[str] | None:
    """Return words in which the kubelet replaces nothing."""
    return None if words is None else [escape.kubernetes(word) for word in words]


def variables(container: Container) -> list[dict[str, Any]]:
    """Return the environment."""
    return [{"name": name, "value": escape.kubernetes(value)} for name, value in container.command.env.items()]


def image(container: Container) -> str:
    """Return the pinned reference, which a node pulls also where hosts would copy it.

    An image that is built from source is in no registry: its tag is the start of its ID.
    """
    found = container.image
    if found.build is not None:
        return f"{found.repository}:{(found.digest or UNLOCKED).removeprefix('sha256:')[:_ID_LENGTH]}"
    return found._replace(copied=False).pull


def template(node: Node, process: Process, files: Files, placement: dict[str, Any]) -> dict[str, Any]:
    """Return the pod template of a container on its host."""
    container, found = node.container, volumes.mounted(node.container, promise=files.promise, has_nodes=files.has_nodes)
    host_network = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"} if container.network.host else {}
    spec = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,  # variables such as VLLM_PORT, of a Service named vllm, would change the server
        **placement,
        **host_network,
        "hostAliases": _aliases(node),
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "terminationGracePeriodSeconds": container.timeouts.stop_s + _drain_s(container),
        "containers": [_server(container, process, found)],
        "volumes": volumes.volumes(found),
    }
    metadata = {"labels": objects.labels(container.name), "annotations": _checksum(files.artifacts)}
    return {"metadata": objects.without_empty(metadata), "spec": objects.without_empty(spec)}


def placement(hosts: Iterable[HostPlan]) -> dict[str, Any]:
    """Return what places a pod on one of these hosts; two pods of one group never share a host."""
    found = list(hosts)
    selected = {"kubernetes.io/arch": found[0].values.architecture}
    if len(found) == 1:
        return {"nodeSelector": selected | {HOSTNAME: found[0].name}}
    within = {"key": HOSTNAME, "operator": "In", "values": [host.name for host in found]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [within]}]}
    node = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {"nodeSelector": selected, "affinity": node}


def _server(container: Container, process: Process, found: tuple[volumes.Mounted, ...]) -> dict[str, Any]:
    settings = confinement.pod(container.confinement)
    memory = {} if container.memory_bytes is None else {"memory": str(container.memory_bytes)}
    server = {
        "name": "server",
        "image": image(container),
        "imagePullPolicy": "IfNotPresent" if container.image.build is None else "Never",
        "command": process.command,
        "args": process.args,
        "env": process.env,
        "ports": _ports(container),
        "resources": objects.without_empty({**settings.get("resources", {}), "requests": memory}),
        "securityContext": settings["securityContext"],
        "volumeMounts": volumes.mounts(found),
        "lifecycle": _lifecycle(container),
        **_probes(container),
    }
    return objects.without_empty(server)


def _ports(container: Container) -> list[dict[str, Any]]:
    """Return the port; it is published on the address of the node that Docker would publish it on."""
    listen, published = container.network.listen, container.network.published
    if listen is None:
        return []
    if published is None:
        return [{"name": "http", "containerPort": listen[1], "protocol": "TCP"}]
    address = {} if published.address == EVERY else {"hostIP": published.address}
    port = {"name": "http", "containerPort": published.container_port, "hostPort": published.port}
    return [port | address | {"protocol": "TCP"}]


def _drain_s(container: Container) -> int:
    return 0 if container.network.listen is None else container.timeouts.drain_s


def _lifecycle(container: Container) -> dict[str, Any]:
    """Wait before SIGTERM, so that running requests can end; Services send no new ones during this time."""
    drain_s = _drain_s(container)
    return {"preStop": {"sleep": {"seconds": drain_s}}} if drain_s else {}


def _aliases(node: Node) -> list[dict[str, Any]]:
    if GATEWAY_ENTRY not in node.container.network.extra_hosts or not is_address(node.host.address):
        return []
    return [{"ip": node.host.address, "hostnames": [GATEWAY]}]


def _checksum(files: tuple[Artifact, ...]) -> dict[str, str]:
    if not files:
        return {}
    parts = sorted(hashlib.sha256(each.path.encode() + b"\0" + each.content).hexdigest() for each in files)
    return {_CHECKSUM: hashlib.sha256("".join(parts).encode()).hexdigest()}


def deployment(node: Node, files: Files) -> dict[str, Any]:
    """Return the Deployment."""
    container = node.container
    spec = {
        "replicas": 1,
        # The former pod must end first: it has the GPU, the memory and the port of the node.
        "strategy": {"type": "Recreate"},
        "progressDeadlineSeconds": container.timeouts.ready_s + _PULL_S,
        "selector": objects.selector(container.name),
        "template": template(node, process(container), files, placement([node.host])),
    }
    return objects.head("apps/v1", "Deployment", container.name, container.name) | {"spec": spec}


def _probes(container: Container) -> dict[str, Any]:
    """Return the startup, liveness and readiness probes.

    The health check of the compose file decides when the pod has started and whether it must restart. It keeps a state
    between two runs, so only one probe runs it at a time: the startup probe, and after it the liveness probe.
    """
    health = container.checks.health
    if health is None:
        return {}
    check = {"exec": {"command": _command(health)}, "timeoutSeconds": health.timeout_s}
    attempts = -(-container.timeouts.ready_s // START_INTERVAL_S)
    return {
        "startupProbe": check | {"periodSeconds": START_INTERVAL_S, "failureThreshold": attempts},
        "livenessProbe": check | {"periodSeconds": health.interval_s, "failureThreshold": RETRIES},
        **_readiness(container),
    }


def _command(health: Health) -> list[str]:
    kind, *words = health.command
    return ["/bin/sh", "-c", *words] if kind == "CMD-SHELL" else words


def _readiness(container: Container) -> dict[str, Any]:
    """Return the readiness probe; a pod without HTTP, such as a worker of a group, is ready once it has started."""
    listen, published = container.network.listen, container.network.published
    if container.checks.path is None or listen is None:
        return {}
    address, port = ("", published.container_port) if published else listen
    host = {} if address in {"", EVERY} else {"host": address}
    get = {"path": container.checks.path, "port": port, **host}
    return {"readinessProbe": {"httpGet": get, "periodSeconds": _READY_PERIOD_S, "timeoutSeconds": _READY_TIMEOUT_S}}
