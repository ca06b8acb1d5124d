"""A LeaderWorkerSet: a deployment on several hosts.

LeaderWorkerSet (leaderworkerset.x-k8s.io/v1) starts one pod as leader and the others from one template for all workers.
It gives each pod LWS_LEADER_ADDRESS, LWS_GROUP_SIZE and LWS_WORKER_INDEX, before its other variables, and recreates all
pods when one ends. Only variables can differ between workers, besides address and rank: they are in a file for each
node. Source: kubernetes-sigs/lws, leaderworkerset_types.go and pod_utils.go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sparkiac.plan import Container
from sparkiac.render import compose, escape
from sparkiac.render.kubernetes import objects, pods, volumes
from sparkiac.render.kubernetes.objects import KubernetesError, Node
from sparkiac.render.kubernetes.pods import Files, Process
from sparkiac.report.artifact import Artifact

_LEADER: Final = "LWS_LEADER_ADDRESS"
_NODE_NAME: Final = "NODE_NAME"
_NODE_ADDRESS: Final = "NODE_ADDRESS"
_EXECUTOR: Final = "mp"
_OPTIONS: Final = {"--master-addr": _LEADER, "--nnodes": "LWS_GROUP_SIZE", "--node-rank": "LWS_WORKER_INDEX"}
"""Option of vLLM → variable with its value in the pod."""
_OF_WORKER: Final = _OPTIONS | {"--host": _NODE_ADDRESS}
_FIELDS: Final = {_NODE_NAME: "spec.nodeName", _NODE_ADDRESS: "status.hostIP"}
_READ_NODE: Final = (f'set -a; . "{volumes.NODES}/${_NODE_NAME}.env"; set +a',)
LEADER: Final = "leader.json"
WORKER: Final = "worker.json"


def leader_address(name: str, namespace: str) -> str:
    """Return LWS_LEADER_ADDRESS of the only group of a LeaderWorkerSet: pod, headless Service and namespace."""
    return f"{name}-0.{name}.{namespace}"


def group(nodes: Sequence[Node], files: tuple[Artifact, ...]) -> dict[str, Any]:
    """Return the LeaderWorkerSet of the nodes of a group, leader first. Raises KubernetesError."""
    name, executor = nodes[0].container.name, nodes[0].container.server.executor
    if executor != _EXECUTOR:
        raise KubernetesError("only groups on vLLM's own processes (`executor: mp`) are written for Kubernetes")
    leader, *workers = _alike(nodes)
    template = {
        "size": len(nodes),
        "restartPolicy": "RecreateGroupOnPodRestart",
        "leaderTemplate": _leader(leader, files),
        "workerTemplate": _workers(workers, files),
    }
    spec = {
        "replicas": 1,
        # A second group, which some versions start first by default, would wait for the same nodes for ever.
        "rolloutStrategy": {
            "type": "RollingUpdate",
            "rollingUpdateConfiguration": {"maxUnavailable": 1, "maxSurge": 0},
        },
        "startupPolicy": "LeaderCreated",
        "leaderWorkerTemplate": template,
    }
    return objects.head("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", name, name) | {"spec": spec}


def variables_of_nodes(nodes: Sequence[Node]) -> Iterator[Artifact]:
    """Yield a file for each worker with the variables that differ between workers; nothing for a single worker."""
    workers = nodes[1:]
    differing = _differing(workers)
    for host, container in workers if differing else ():
        env = {name: container.command.env[name] for name in differing if name in container.command.env}
        text = "".join(f"{name}={escape.shell_word(value)}\n" for name, value in env.items())
        yield Artifact(f"{container.name}/nodes/{host.name}.env", text.encode())


def _alike(nodes: Sequence[Node]) -> list[Node]:
    """Give all nodes the same cache directory, whose name depends on the rank, and the same memory request.

    That of the smallest node is requested, because more might not fit there.
    """
    sizes = [node.container.memory_bytes for node in nodes if node.container.memory_bytes is not None]
    memory = min(sizes) if len(sizes) == len(nodes) else None
    keys = ",".join(node.container.storage.cache_key or "" for node in nodes)
    key = hashlib.sha256(keys.encode()).hexdigest()[:16]

    def with_shared_values(container: Container) -> Container:
        return container._replace(storage=container.storage._replace(cache_key=key), memory_bytes=memory)

    return [node._replace(container=with_shared_values(node.container)) for node in nodes]


def _leader(node: Node, files: tuple[Artifact, ...]) -> dict[str, Any]:
    process = pods.process(node.container)._replace(args=_args(node.container, _OPTIONS))
    return pods.template(node, process, Files(files, LEADER), pods.placement([node.host]))


def _workers(workers: list[Node], files: tuple[Artifact, ...]) -> dict[str, Any]:
    """Return the template of all workers. Raises KubernetesError if a worker needs another one."""
    differing, name = _differing(workers), workers[0].container.name
    placed = pods.placement([node.host for node in workers])
    if len(workers) > 1:
        term = {"labelSelector": objects.selector(name), "topologyKey": pods.HOSTNAME}
        alone = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        placed["affinity"] |= {"podAntiAffinity": alone}
    own = Files(files, WORKER, has_nodes=bool(differing))
    templates = [pods.template(node, _worker_process(node.container, differing), own, placed) for node in workers]
    for node, template in zip(workers[1:], templates[1:], strict=True):
        if template != templates[0]:
            raise KubernetesError(_message(workers[0], node, templates[0], template))
    return templates[0]


def _worker_process(container: Container, differing: Sequence[str]) -> Process:
    found = pods.process(container)
    fields = _FIELDS if differing else {_NODE_ADDRESS: _FIELDS[_NODE_ADDRESS]}
    downward = [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()]
    return Process(
        pods.encoded(compose.entrypoint(container, first=_READ_NODE)) if differing else found.command,
        _args(container, _OF_WORKER, shell=bool(differing)),
        [*downward, *(each for each in found.env if each["name"] not in differing)],
    )


def _differing(workers: Sequence[Node]) -> list[str]:
    """Return the variables whose values differ between workers, sorted."""
    found = [node.container.command.env for node in workers]
    return sorted(name for name in set().union(*found) if len({env.get(name) for env in found}) > 1)


def _args(container: Container, options: Mapping[str, str], *, shell: bool = False) -> list[str] | None:
    """Return the arguments, with references to variables of the pod as the values of these options."""
    words = compose.command(container, shell=shell)
    return None if words is None else [_referring(word, options) for word in words]


def _referring(word: str, options: Mapping[str, str]) -> str:
    option, equals, _ = word.partition("=")
    return f"{option}=$({options[option]})" if equals and option in options else escape.kubernetes(word)


def _message(one: Node, other: Node, first: dict[str, Any], second: dict[str, Any]) -> str:
    """Return the arguments and fields in which the pods of two workers differ."""
    ours, theirs = first["spec"], second["spec"]
    server, other_server = ours["containers"][0], theirs["containers"][0]
    words = [word for word in server.get("args", ()) if word not in other_server.get("args", ())]
    fields = [
        *(key for key in ours if key != "containers" and ours[key] != theirs.get(key)),
        *(key for key in server if key != "args" and server[key] != other_server.get(key)),
    ]
    return (
        f"its workers {one.host.name} and {other.host.name} differ in {', '.join((*words, *fields))}; "
        "a LeaderWorkerSet has one template for all workers"
    )
