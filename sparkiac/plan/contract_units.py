"""What the programs of a unit read: the models that it loads, what changes on its host meanwhile, and its group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sparkiac.model.resolved import ResolvedDeployment


class Sysctl(NamedTuple):
    """A kernel setting."""

    key: str
    value: str


class StagedModel(NamedTuple):
    """A model that the playbooks download into a model store."""

    model: str
    commit: str
    layout: str
    """`hub` or `directory`."""
    manifest: str
    """Path of the manifest that lists its files."""


class StagedStore(NamedTuple):
    """A model store and the models that are downloaded into it: the argument --stores of `stage`."""

    path: str
    models: tuple[StagedModel, ...]


class NodeWeights(NamedTuple):
    """A model whose files preflight compares with its manifest before a node of a group starts."""

    path: str
    """Directory with the files."""
    commit: str
    manifest: str
    """Path of the manifest below /etc/sparkiac."""


class UnpinnableMemory(NamedTuple):
    """What preflight reports if the kernel has memory in which nothing can be pinned."""

    rdma_units: tuple[str, ...]
    """Units that register memory for RDMA. If there is one, the check of the host fails; otherwise it only warns."""
    hint: str
    code: str


class ManifestFile(NamedTuple):
    """One file of a model."""

    sha256: str
    size_bytes: int


class ModelManifest(NamedTuple):
    """The files of one commit of a model, models/<name>.json."""

    model: str
    commit: str
    gated: bool
    files: Mapping[str, ManifestFile]


class LoadGuard(NamedTuple):
    """Changes to the host during the load of a unit: etc/sparkiac/NAME/load-memory.json."""

    drop_every_s: float | None
    """Seconds between two drops of the page cache; None drops it only once, before the start."""
    drop_for_s: int
    """Seconds after which the drops end even if the unit is not ready."""
    read_ahead_kib: int | None
    """Read-ahead of the disk that contains `store`; None does not change it."""
    read_ahead_for_s: int
    """Seconds after which the read-ahead is restored even if the unit is not ready."""
    store: str | None
    """The model store."""
    sysctls: tuple[Sysctl, ...]
    for_s: int
    """Seconds after which everything is undone even if nothing else does so."""


def load_guard(values: ResolvedDeployment) -> LoadGuard | None:
    """Return what changes on the host while the deployment loads its model; None if nothing does."""
    wanted, ready_s = values.load_memory, values.timeouts.ready_s
    if wanted is None:
        return None
    sysctls = {key: str(value) for key, value in (wanted.sysctl or {}).items() if value is not None}
    return LoadGuard(
        drop_every_s=wanted.drop_caches_every_s,
        drop_for_s=wanted.drop_caches_for_s or ready_s,
        read_ahead_kib=wanted.read_ahead_kib,
        read_ahead_for_s=wanted.read_ahead_for_s or ready_s,
        store=values.model_store,
        sysctls=tuple(Sysctl(key, value) for key, value in sorted(sysctls.items())),
        for_s=ready_s,
    )


class GroupNode(NamedTuple):
    """A node of a group: etc/sparkiac/NAME/group.json, read by `group`, which connects the workers to the leader."""

    host: str
    """Name of the host, as are those below."""
    leader: str
    address: str
    """Address at which the leader listens, and its port."""
    port: int
    workers: tuple[str, ...]
    version: str
    """Hash of what all nodes of the group run; a group starts only if it is the same on all of them."""
