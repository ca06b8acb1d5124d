"""Settings that deployments and services share: mounts, extra files and timeouts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac import engines
from sparkiac.model.references import hub_file
from sparkiac.plan import weights
from sparkiac.plan.contract import Sysctl
from sparkiac.plan.contract_units import LoadGuard
from sparkiac.plan.parts import INVENTORY, BindMount, FetchedFile, UnitTimeouts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.model.resolved import ResolvedDeployment, ResolvedFile, ResolvedTimeouts
    from sparkiac.model.settings import Mount as Mounted
    from sparkiac.report import Path
    from sparkiac.resolve import Resolved


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


def timeouts(wanted: ResolvedTimeouts) -> UnitTimeouts:
    """Return the timeouts of a unit."""
    return UnitTimeouts(wanted.ready_s, wanted.stop_s, wanted.restart_delay_s, wanted.drain_s, wanted.answer_s)


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
