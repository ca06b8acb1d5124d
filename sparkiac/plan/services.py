"""A service's container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac.plan.addresses import bind_address
from sparkiac.plan.images import image
from sparkiac.plan.settings import source, waits
from sparkiac.plan.values import Container, Health, Mount, Published

if TYPE_CHECKING:
    from sparkiac.resolve import Resolved

_TMP_BYTES: Final = 1 << 28


def container(resolved: Resolved, *, name: str) -> Container:
    """Decide how the service `name` runs on its host."""
    fleet = resolved.inventory.value
    assert fleet is not None  # noqa: S101
    values = resolved.values["services"][name]
    machine = resolved.values["hosts"][values["on"]]
    published = _published(values, machine)
    return Container(
        kind="service",
        name=name,
        description=values.get("description", name),
        path=("services", name),
        image=image(values["image"], lock=resolved.lock, mirrors=fleet.registries.mirrors),
        entrypoint=None,
        command=tuple(values.get("command", ())),
        env={key: str(value) for key, value in sorted(values.get("env", {}).items())},
        mounts=_mounts(values),
        published=published,
        listen=(published.address, published.port) if published else None,
        host_network=False,
        ipc="private",
        shm_size_bytes=None,
        tmp_size_bytes=_TMP_BYTES,
        ulimits={},
        read_only=values["read_only"],
        gpu=values["gpu"],
        devices=(),
        secrets=(),
        health=_health(values, published),
        health_path=values.get("health"),
        cache_key=None,
        memory_bytes=None,
        store=None,
        models=(),
        served=(),
        node=None,
        **waits(values),
    )


def _published(values: dict[str, Any], machine: dict[str, Any]) -> Published | None:
    if "port" not in values:
        return None
    return Published(
        bind_address(machine, values["bind"]), values["port"], values.get("container_port", values["port"])
    )


def _mounts(values: dict[str, Any]) -> tuple[Mount, ...]:
    return tuple(
        Mount(source(values, mount), target, mount.get("read_only", True))
        for target, mount in sorted(values.get("mounts", {}).items())
    )


def _health(values: dict[str, Any], published: Published | None) -> Health | None:
    """Ask with whatever HTTP client the image brings."""
    if "health" not in values or published is None:
        return None
    url = f"http://127.0.0.1:{published.container_port}{values['health']}"
    command = ("CMD-SHELL", f"curl -fsS -m 4 {url} >/dev/null || wget -q -T 4 -O /dev/null {url}")
    return Health(command, interval_s=15, timeout_s=10)
