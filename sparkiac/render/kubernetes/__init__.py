"""Render the plan as Kubernetes objects: LeaderWorkerSet, Deployment, Service, NetworkPolicy. One module per kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from sparkiac.plan import Plan
from sparkiac.plan.promise import is_probed
from sparkiac.render import jsontext
from sparkiac.render.kubernetes import groups, notes, objects, pods, volumes
from sparkiac.render.kubernetes.objects import KubernetesError, Node
from sparkiac.render.kubernetes.pods import Files
from sparkiac.report.artifact import Artifact

__all__ = ["KubernetesError", "Rendering", "render"]
_PROBE_DIRECTORY: Final = "probe"


class Rendering(NamedTuple):
    """The files, and what they do not cover."""

    artifacts: tuple[Artifact, ...]
    uncovered: tuple[str, ...]


def render(plan: Plan) -> Rendering:
    """Render all objects and kustomization.yaml, sorted by path. Raises KubernetesError."""
    units = _nodes(plan)
    _check_names(plan, units)
    users = _users(plan)
    resources = [_namespace(plan.name)]
    configured: list[Artifact] = []
    rendered: list[list[Node]] = []
    refused: dict[str, str] = {}
    for name, nodes in units.items():
        own = (*_promises(nodes, plan.name), *groups.variables_of_nodes(nodes))
        probe = _probe() if is_probed(nodes[0].container) else ()
        try:
            resources += _objects(nodes, (*own, *probe), users.get(name, []))
        except KubernetesError as error:
            refused[name] = str(error)
            continue
        rendered.append(nodes)
        configured += [each for each in (*own, *probe) if each not in configured]
    if not rendered:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refused.items()) or "it has no container"
        raise KubernetesError(f"nothing of {plan.name} can run on Kubernetes: {reasons}")
    found = notes.notes(plan, rendered, refused)
    kustomization = _kustomization(plan.name, [each.path for each in resources], configured)
    artifacts = (*resources, *configured, kustomization, notes.render(plan, found))
    return Rendering(tuple(sorted(artifacts, key=lambda artifact: artifact.path)), found.uncovered)


def _objects(nodes: list[Node], own: tuple[Artifact, ...], users: list[str]) -> list[Artifact]:
    """Return the objects of a deployment or service. Raises KubernetesError."""
    name = nodes[0].container.name
    if nodes[0].container.reloaded:
        raise KubernetesError("the gateway gets its keys from its systemd unit; use a Gateway of the cluster")
    if len(nodes) > 1:
        found = {"leaderworkerset": groups.group(nodes, own)}
    else:
        found = {"deployment": pods.deployment(nodes[0], Files(own))}
        found["networkpolicy"] = objects.policy(nodes[0], users)
    if objects.is_reachable(nodes[0]):
        found["service"] = objects.service(nodes[0].container)
    return [objects.artifact(f"{name}/{kind}.yaml", data) for kind, data in found.items()]


def _nodes(plan: Plan) -> dict[str, list[Node]]:
    """Return the nodes of each deployment and container service, the leader of a group first, sorted by name."""
    found: dict[str, list[Node]] = {}
    for host, container in plan.containers:
        if container.path[0] != "monitoring":
            found.setdefault(container.name, []).append(Node(host, container))
    return {name: sorted(found[name], key=lambda node: node.container.server.node or (0, 1)) for name in sorted(found)}


def _users(plan: Plan) -> dict[str, list[str]]:
    """Return name → containers that use the deployment or service of this name, sorted."""
    found: dict[str, set[str]] = {}
    for _, container in plan.containers:
        for link in container.dependencies:
            if link.target is not None:
                found.setdefault(link.name, set()).add(container.name)
    return {name: sorted(users) for name, users in found.items()}


def _check_names(plan: Plan, units: Iterable[str]) -> None:
    """Raise KubernetesError if a name ends with a hyphen, which Kubernetes does not allow."""
    names = {plan.name, *(host.name for host in plan.hosts), *units}
    bad = sorted(name for name in names if name.endswith("-"))
    if bad:
        raise KubernetesError(f"names of Kubernetes do not end with a hyphen: rename {', '.join(bad)}")


def _probe() -> tuple[Artifact, ...]:
    """Return the probe and the modules that it imports; a ConfigMap has no folders."""
    return tuple(
        Artifact(f"{_PROBE_DIRECTORY}/{volumes.key(path)}", content) for path, content in volumes.probe().items()
    )


def _promises(nodes: Sequence[Node], namespace: str) -> Iterator[Artifact]:
    """Yield the files with the API checks of a deployment: one, or one for the leader and one for the workers."""
    name = nodes[0].container.name
    if not is_probed(nodes[0].container):
        return
    if len(nodes) == 1:
        yield Artifact(f"{name}/promise.json", jsontext.dump(nodes[0].host.promises[nodes[0].container.unit]))
        return
    for file, node in ((groups.LEADER, nodes[0]), (groups.WORKER, nodes[1])):
        found = node.host.promises[node.container.unit]
        port = (found.store or "").rpartition(":")[2]
        store = f"{groups.leader_address(name, namespace)}:{port}"
        yield Artifact(f"{name}/{file}", jsontext.dump(found._replace(store=store)))


def _kustomization(namespace: str, resources: Sequence[str], files: Sequence[Artifact]) -> Artifact:
    """Return kustomization.yaml; `files` become ConfigMaps, whose names kustomize does not change."""
    maps: dict[str, list[str]] = {}
    for each in files:
        maps.setdefault(_config_map(each.path), []).append(each.path)
    data: dict[str, Any] = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": namespace,
        "labels": [{"pairs": {"app.kubernetes.io/part-of": namespace}}],
        "resources": sorted(resources),
        "generatorOptions": {"disableNameSuffixHash": True},
        "configMapGenerator": [{"name": name, "files": sorted(paths)} for name, paths in sorted(maps.items())],
    }
    return objects.artifact("kustomization.yaml", objects.without_empty(data))


def _namespace(name: str) -> Artifact:
    """Return the namespace. Its pods mount directories of their nodes, which only `privileged` permits."""
    found = objects.head("v1", "Namespace", name, name)
    found["metadata"]["labels"] |= {"pod-security.kubernetes.io/enforce": "privileged"}
    return objects.artifact("namespace.yaml", found)


def _config_map(path: str) -> str:
    first, _, rest = path.partition("/")
    if first == _PROBE_DIRECTORY:
        return volumes.PROBE
    return volumes.nodes(first) if rest.startswith("nodes/") else volumes.promises(first)
