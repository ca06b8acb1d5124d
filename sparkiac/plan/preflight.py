"""What a host must be before anything is put on it, in the words of the preflight script's file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac.plan.values import GIB

if TYPE_CHECKING:
    from sparkiac.plan.values import Container

_MACHINES: Final = {"arm64": "aarch64", "amd64": "x86_64"}


def expectations(
    name: str, values: dict[str, Any], containers: tuple[Container, ...], *, memory_bytes: int | None
) -> dict[str, Any]:
    """Give the expectations of one host; a key that is left out is not checked."""
    free_gib = values.get("docker_free_gib")
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
            {"address": container.listen[0], "port": container.listen[1], "unit": container.unit}
            for container in containers
            if container.listen is not None
        ],
        "secrets": [{"name": secret, "mode": "0600"} for secret in secrets_of(containers)],
        "store": _stores(containers),
        "units": {container.name: _unit(container) for container in containers},
    }
    return {key: value for key, value in wanted.items() if value not in (None, [], {})}


def secrets_of(containers: tuple[Container, ...]) -> tuple[str, ...]:
    """Name the secrets that these containers read, sorted."""
    return tuple(sorted({secret.name for container in containers for secret in container.secrets}))


def _stores(containers: tuple[Container, ...]) -> list[dict[str, Any]]:
    by_path: dict[str, set[str]] = {}
    for container in containers:
        if container.store is not None and container.models:
            by_path.setdefault(container.store, set()).update(container.models)
    return [
        {"path": path, "models": [f"models--{model.replace('/', '--')}" for model in sorted(models)]}
        for path, models in sorted(by_path.items())
    ]


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
