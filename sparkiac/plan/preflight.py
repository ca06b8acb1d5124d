"""What a host must be before anything is put on it, in the words of the preflight script's file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac.memory.values import GIB
from sparkiac.plan import drivers
from sparkiac.plan.stores import stores as wanted_stores

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sparkiac.plan.askers import Program
    from sparkiac.plan.fleet import Placed
    from sparkiac.plan.parts import Store
    from sparkiac.plan.values import Container

_MACHINES: Final = {"arm64": "aarch64", "amd64": "x86_64"}
_NVIDIA: Final = "nvcr.io"
_RUNS_AS: Final = {"user": "sparkiac", "group": "docker"}
"""Who starts the containers: the unit's template says the same."""
_LOAD_TUNING: Final = ("vm.min_free_kbytes", "vm.vfs_cache_pressure", "vm.dirty_ratio", "vm.dirty_background_ratio")
"""Kernel settings that one source sets against memory that runs out while a model loads."""
_IDLE_SHARE: Final = 0.75
"""Share of the memory that is available while no container runs; sparkiac's own choice, well below any clean boot."""


def expectations(
    host: Placed, *, stores: tuple[Store, ...], secrets: tuple[str, ...], unpinned: tuple[str, ...]
) -> dict[str, Any]:
    """Give the expectations of one host; a key that is left out is not checked."""
    containers = host.containers
    wanted = {
        "host": host.name,
        **_machine(host),
        "ports": [
            {"address": each.network.listen[0], "port": each.network.listen[1], "unit": each.unit}
            for each in sorted(host.units, key=lambda each: each.name)
            if each.network.listen is not None
        ],
        "secrets": [{"name": secret, "mode": "0600"} for secret in secrets],
        "logins": [
            {"registry": _NVIDIA, "image": image}
            for image in sorted({container.image.pull for container in containers})
            if image.startswith(f"{_NVIDIA}/")
        ],
        "store": wanted_stores(containers, staged=stores, unpinned=unpinned),
        "units": {container.name: _unit(container) for container in containers},
    }
    return {key: value for key, value in wanted.items() if value not in (None, [], {})}


def _machine(host: Placed) -> dict[str, Any]:
    values, containers, sysctls = host.values, host.containers, host.values.sysctl
    free_gib = values.docker_free_gib
    return {
        "architecture": _MACHINES[values.architecture],
        "gpu": values.gpu.model_dump() if values.gpu else None,
        "driver": values.driver,
        "doubted_drivers": drivers.doubted(values, containers),
        "image_drivers": drivers.of_images(containers),
        "kernel_parameters": values.kernel_parameters,
        "versions": values.requires.model_dump(exclude_none=True),
        "docker_access": _RUNS_AS if containers else None,
        "memory_bytes": host.memory_bytes,
        "idle_memory_bytes": _idle_bytes(containers, host.memory_bytes),
        "load_tuning": {key: str(sysctls[key]) for key in _LOAD_TUNING if key in sysctls},
        "disk": None if free_gib is None else [{"path": "/var/lib/docker", "free_bytes": int(free_gib * GIB)}],
    }


def _idle_bytes(containers: tuple[Container, ...], memory_bytes: int | None) -> int | None:
    """Give what is available while no container runs, where a GPU's driver could have kept some of it."""
    if memory_bytes is None or not any(container.confinement.gpu for container in containers):
        return None
    return int(memory_bytes * _IDLE_SHARE)


def secrets_of(units: Iterable[Container | Program]) -> tuple[str, ...]:
    """Name the secrets that these units read, sorted."""
    return tuple(sorted({secret.name for each in units for secret in each.secrets}))


def _unit(container: Container) -> dict[str, Any]:
    wanted = {
        "memory_bytes": container.memory_bytes,
        "image": container.image.pull,
        "secrets": [secret.name for secret in container.secrets],
        "cache": cache_path(container),
        "files": [file.path for file in container.storage.files],
    }
    return {key: value for key, value in wanted.items() if value not in (None, [])}


def cache_path(container: Container) -> str | None:
    """Give the directory on the host that keeps the container's compiled code."""
    return (
        None
        if container.storage.cache_key is None
        else f"/var/cache/sparkiac/{container.name}/{container.storage.cache_key}"
    )
