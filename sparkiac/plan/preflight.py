"""What a host must be before anything is put on it, in the words of the preflight script's file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac.plan.values import GIB

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sparkiac.plan.askers import Program
    from sparkiac.plan.values import Container

_MACHINES: Final = {"arm64": "aarch64", "amd64": "x86_64"}


def expectations(
    name: str,
    values: dict[str, Any],
    containers: tuple[Container, ...],
    programs: tuple[Program, ...],
    *,
    memory_bytes: int | None,
) -> dict[str, Any]:
    """Give the expectations of one host; a key that is left out is not checked."""
    free_gib = values.get("docker_free_gib")
    units: list[Container | Program] = sorted([*containers, *programs], key=lambda each: each.name)
    wanted = {
        "host": name,
        "architecture": _MACHINES[values["architecture"]],
        "gpu": values.get("gpu"),
        "driver": values.get("driver"),
        "kernel_parameters": values.get("kernel_parameters"),
        "versions": values.get("requires"),
        "memory_bytes": memory_bytes,
        "disk": None if free_gib is None else [{"path": "/var/lib/docker", "free_bytes": int(free_gib * GIB)}],
        "ports": [
            {"address": each.listen[0], "port": each.listen[1], "unit": each.unit}
            for each in units
            if each.listen is not None
        ],
        "secrets": [{"name": secret, "mode": "0600"} for secret in secrets_of(units)],
        "store": _stores(containers),
        "units": {container.name: _unit(container) for container in containers},
    }
    return {key: value for key, value in wanted.items() if value not in (None, [], {})}


def secrets_of(units: Iterable[Container | Program]) -> tuple[str, ...]:
    """Name the secrets that these units read, sorted."""
    return tuple(sorted({secret.name for each in units for secret in each.secrets}))


def _stores(containers: tuple[Container, ...]) -> list[dict[str, Any]]:
    """Name what each model store must hold: repositories as the hub's cache names them, and plain directories."""
    by_path: dict[str, set[str]] = {}
    for container in containers:
        names = {*(f"models--{model.replace('/', '--')}" for model in container.models), *container.directories}
        if container.store is not None and names:
            by_path.setdefault(container.store, set()).update(names)
    return [{"path": path, "models": sorted(models)} for path, models in sorted(by_path.items())]


def _unit(container: Container) -> dict[str, Any]:
    wanted = {
        "memory_bytes": container.memory_bytes,
        "image": container.image.pull,
        "secrets": [secret.name for secret in container.secrets],
        "cache": cache_path(container),
    }
    return {key: value for key, value in wanted.items() if value not in (None, [])}


def cache_path(container: Container) -> str | None:
    """Give the directory on the host that keeps the container's compiled code."""
    return None if container.cache_key is None else f"/var/cache/sparkiac/{container.name}/{container.cache_key}"
