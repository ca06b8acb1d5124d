"""Settings that deployments and services share: mounts and extra files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.model.references import hub_file
from sparkiac.plan import weights
from sparkiac.plan.parts import INVENTORY, BindMount, FetchedFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.model.resolved import ResolvedDeployment, ResolvedFile
    from sparkiac.model.settings import Mount as Mounted
    from sparkiac.report import Path
    from sparkiac.resolve import Resolved


def server_port(values: ResolvedDeployment) -> int:
    """Return the port that the server listens on in its container."""
    port = values.set["port"]
    assert isinstance(port, int), "resolve has checked the type"  # noqa: S101
    return port


def mounts(wanted: Mapping[str, Mounted], *, store: str | None) -> list[BindMount]:
    """Return the mounts of a container; `store` is the model store of the host, required if a mount uses it."""
    return [BindMount(_source(mount, store), target, mount.read_only) for target, mount in wanted.items()]


def _source(mount: Mounted, store: str | None) -> str:
    if mount.source != "model_store":
        return mount.source
    assert store is not None, "resolve has checked that the model store is set"  # noqa: S101
    return store


def files(wanted: Mapping[str, ResolvedFile], *, resolved: Resolved) -> tuple[FetchedFile, ...]:
    """Return the extra files of a container with their pins, sorted by their path in the container."""
    return tuple(_file(file.url, target, resolved) for target, file in sorted(wanted.items()))


def _file(url: str, target: str, resolved: Resolved) -> FetchedFile:
    pinned = resolved.lock.files.get(url) if resolved.lock else None
    named = hub_file(url)
    if pinned is None or (named is not None and not weights.is_requested(resolved, named[0], pinned.revision)):
        return FetchedFile(url, None, target)
    return FetchedFile(url, pinned.sha256, target, pinned.commit)


def memory_source(resolved: Resolved, path: Path) -> str:
    """Return the source of a service's memory figure; `path` is that of the service in the inventory."""
    leaf = resolved.leaves.get((*path, "memory_gib"))
    return INVENTORY if leaf is None or leaf[1].layer == "inventory" else "the catalog"
