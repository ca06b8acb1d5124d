"""Settings that deployments and services share: mounts and extra files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac import engines
from sparkiac.plan.parts import INVENTORY, BindMount, FetchedFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.model.resolved import ResolvedDeployment, ResolvedFile
    from sparkiac.model.settings import Mount as Mounted
    from sparkiac.plan.weights import Pins
    from sparkiac.report import Path
    from sparkiac.resolve.leaves import Leaves


def server_port(values: ResolvedDeployment) -> int:
    """Return the port that the server listens on in its container."""
    port = values.set[engines.named(values.engine).port]
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


def files(wanted: Mapping[str, ResolvedFile], pins: Pins) -> tuple[FetchedFile, ...]:
    """Return the extra files of a container with their pins, sorted by their path in the container."""
    return tuple(_file(file.url, target, pins) for target, file in sorted(wanted.items()))


def _file(url: str, target: str, pins: Pins) -> FetchedFile:
    pinned = pins.files.get(url)
    return FetchedFile(url, pinned.sha256, target, pinned.commit) if pinned else FetchedFile(url, None, target)


def memory_source(leaves: Leaves, path: Path) -> str:
    """Return the source of a service's memory figure; `path` is that of the service in the inventory."""
    leaf = leaves.get((*path, "memory_gib"))
    return INVENTORY if leaf is None or leaf[1].layer == "inventory" else "the catalog"
