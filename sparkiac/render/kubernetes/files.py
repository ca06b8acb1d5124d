"""Files that are not objects: what kustomize makes ConfigMaps of, and kustomization.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from sparkiac.plan.health import is_probed
from sparkiac.render import jsontext
from sparkiac.render.kubernetes import groups, objects, volumes
from sparkiac.render.kubernetes.objects import Node
from sparkiac.report.artifact import Artifact

_PROBE_DIRECTORY: Final = "probe"


def probe() -> tuple[Artifact, ...]:
    """Return the probe and the modules that it imports; a ConfigMap has no folders."""
    return tuple(
        Artifact(f"{_PROBE_DIRECTORY}/{volumes.key(path)}", content) for path, content in volumes.probe().items()
    )


def promises(nodes: Sequence[Node], namespace: str) -> Iterator[Artifact]:
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


def kustomization(namespace: str, resources: Sequence[str], files: Sequence[Artifact]) -> Artifact:
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


def namespace(name: str) -> Artifact:
    """Return the namespace. Its pods mount directories of their nodes, which only `privileged` permits."""
    found = objects.head("v1", "Namespace", name, name)
    found["metadata"]["labels"] |= {"pod-security.kubernetes.io/enforce": "privileged"}
    return objects.artifact("namespace.yaml", found)


def _config_map(path: str) -> str:
    first, _, rest = path.partition("/")
    if first == _PROBE_DIRECTORY:
        return volumes.PROBE
    return volumes.nodes(first) if rest.startswith("nodes/") else volumes.promises(first)
