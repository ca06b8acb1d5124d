"""The volumes of a pod: directories of the node, memory, ConfigMaps and secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from sparkiac.engines.engine import CACHE
from sparkiac.plan import BindMount, Container, confinement
from sparkiac.plan.deployments import PROGRAMS
from sparkiac.plan.preflight import cache_path
from sparkiac.plan.promise import promise_file
from sparkiac.render import playbooks
from sparkiac.render.kubernetes import objects

PROBE: Final = "sparkiac-probe"
"""The ConfigMap with the probe, which is the same for all pods."""
_PROGRAMS: Final = f"{PROGRAMS.removeprefix('/')}/"
OF_PROBE: Final = re.compile(r"probe[.]py|host/(__init__|contract|generation|series|probe/\w+)[.]py")
NODES: Final = "/run/sparkiac/nodes"
"""Directory in the pods of a group with a file of environment variables for each node."""
_READABLE: Final = 0o444
"""Readable by every user: the container may run as any of them, and nothing else mounts its files."""


class Mounted(NamedTuple):
    """A volume and where it is mounted."""

    name: str
    source: Mapping[str, Any]
    target: str
    options: Mapping[str, Any] = {}


def probe() -> dict[str, bytes]:
    """Return the files of the probe, and their paths in the directory of programs."""
    found = {each.path.removeprefix(_PROGRAMS): each.content for each in playbooks.on_every_host()}
    return {path: content for path, content in found.items() if OF_PROBE.fullmatch(path)}


def key(path: str) -> str:
    """Return the key of a file of the probe in its ConfigMap."""
    return path.replace("/", ".")


def promises(name: str) -> str:
    """Return the name of the ConfigMap with what the pods of a deployment promise."""
    return f"{name}-promise"


def nodes(name: str) -> str:
    """Return the name of the ConfigMap with the variables of each node of a group."""
    return f"{name}-nodes"


def mounted(container: Container, *, promise: str, has_nodes: bool) -> tuple[Mounted, ...]:
    """Return the volumes; `promise` is the key of its promise in the ConfigMap."""
    return (
        *(_mount(f"mount-{index}", mount, container, promise) for index, mount in enumerate(container.storage.mounts)),
        *_files(container),
        *_memory(container),
        *_secrets(container),
        *((_config("nodes", nodes(container.name), NODES),) if has_nodes else ()),
    )


def volumes(found: tuple[Mounted, ...]) -> list[dict[str, Any]]:
    """Return the volumes of the pod; several mounts may share one."""
    return [{"name": name, **source} for name, source in {each.name: each.source for each in found}.items()]


def mounts(found: tuple[Mounted, ...]) -> list[dict[str, Any]]:
    """Return the mounts of the container, sorted by target."""
    ordered = sorted(found, key=lambda each: each.target)
    return [{"name": each.name, "mountPath": each.target, **each.options} for each in ordered]


def _mount(name: str, mount: BindMount, container: Container, promise: str) -> Mounted:
    if mount.source == PROGRAMS:
        items = [{"key": key(path), "path": path} for path in probe()]
        return Mounted("probe", {"configMap": {"name": PROBE, "items": items}}, mount.target, {"readOnly": True})
    if mount.source == promise_file(container.name):
        found = _config("promise", promises(container.name), mount.target)
        return found._replace(options={"subPath": promise, "readOnly": True})
    read_only = {"readOnly": True} if mount.read_only else {}
    follows = {"mountPropagation": "HostToContainer"} if mount.follows else {}
    return Mounted(name, _directory(mount.source, _kind(mount, container)), mount.target, read_only | follows)


def _kind(mount: BindMount, container: Container) -> str:
    """Return how the kubelet checks a path of the node; it creates only directories for data."""
    if mount.source == container.storage.data:
        return "DirectoryOrCreate"
    return "Directory" if mount.source == container.weights.store else ""


def _directory(path: str, kind: str) -> dict[str, Any]:
    return {"hostPath": objects.without_empty({"path": path, "type": kind})}


def _config(name: str, config: str, target: str) -> Mounted:
    return Mounted(name, {"configMap": {"name": config}}, target, {"readOnly": True})


def _files(container: Container) -> Iterator[Mounted]:
    """Yield the fetched files and the compile cache."""
    for index, file in enumerate(container.storage.files):
        yield Mounted(f"file-{index}", _directory(file.path, "File"), file.target, {"readOnly": True})
    cache = cache_path(container)
    if cache is not None:
        yield Mounted("cache", _directory(cache, "DirectoryOrCreate"), CACHE)


def _memory(container: Container) -> Iterator[Mounted]:
    """Yield the directories in memory."""
    for target, source in confinement.pod(container.confinement)["emptyDir"].items():
        yield Mounted(target.rpartition("/")[2], {"emptyDir": source}, target)


def _secrets(container: Container) -> Iterator[Mounted]:
    """Yield one file for each secret of the container; the other keys of the Secret are not mounted."""
    keys = [{"key": secret.name, "path": secret.name} for secret in container.secrets]
    source = {"secret": {"secretName": objects.SECRETS, "defaultMode": _READABLE, "items": keys}}
    for secret in container.secrets:
        yield Mounted("secrets", source, secret.target, {"subPath": secret.name, "readOnly": True})
