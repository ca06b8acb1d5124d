"""A service's container, whatever its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac import catalog
from sparkiac.engines import ollama
from sparkiac.plan import open_webui
from sparkiac.plan.addresses import bind_address
from sparkiac.plan.builds import image_of
from sparkiac.plan.parts import Health, Mount, Published, stated_bytes
from sparkiac.plan.settings import source, waits
from sparkiac.plan.values import Container

if TYPE_CHECKING:
    from sparkiac.plan.askers import Link
    from sparkiac.resolve import Resolved

_CLIENTS: Final = (
    "curl -fsS -m 4 {url} >/dev/null",
    "wget -q -T 4 -O /dev/null {url}",
    "python3 -c \"import urllib.request as r; r.urlopen('{url}', timeout=4)\"",
)
"""HTTP clients of which an image may have one. None of them sees a character of the inventory that a shell reads."""


def container(resolved: Resolved, name: str, links: tuple[Link, ...] = ()) -> Container:
    """Decide how the service `name` runs on its host, and how it asks what it uses."""
    values = resolved.values["services"][name]
    found = _container(resolved, name)
    match values["kind"]:
        case "ollama":
            env = dict(found.env) | ollama.environment(values.get("set", {}))
            pulls = tuple(model if ":" in model else f"{model}:latest" for model in values.get("models", ()))
            env = dict(sorted(env.items()))
            return found._replace(engine="ollama", options=values.get("set", {}), env=env, pulls=pulls)
        case "open-webui":
            return open_webui.connected(found, values, links)
        case _:
            return found


def _container(resolved: Resolved, name: str) -> Container:
    values = resolved.values["services"][name]
    machine = resolved.values["hosts"][values["on"]]
    published = _published(values, machine)
    return Container(
        kind="service",
        name=name,
        description=values.get("description") or _title(values["kind"]) or name,
        path=("services", name),
        image=image_of(resolved, values["image"]),
        command=tuple(values.get("command", ())),
        env={key: str(value) for key, value in sorted(values.get("env", {}).items())},
        mounts=_mounts(values, name),
        data=_data(values, name),
        published=published,
        listen=(published.address, published.port) if published else None,
        read_only=values["read_only"],
        gpu=values["gpu"] and machine.get("gpu") is not None,
        health=_health(values, published),
        health_path=values.get("health"),
        memory_bytes=stated_bytes(values.get("memory_gib")),
        **waits(values),
    )


def _published(values: dict[str, Any], machine: dict[str, Any]) -> Published | None:
    if "port" not in values:
        return None
    return Published(
        bind_address(machine, values["bind"]), values["port"], values.get("container_port", values["port"])
    )


def _title(kind: str) -> str | None:
    known = catalog.service_kind(kind)
    return known.value.title if known and known.value else None


def _data(values: dict[str, Any], name: str) -> str | None:
    """Give the directory on the host for what must outlive the container, unless the user mounts one there."""
    kept = "data" in values and values["data"] not in values.get("mounts", {})
    return f"/var/lib/sparkiac/{name}" if kept else None


def _mounts(values: dict[str, Any], name: str) -> tuple[Mount, ...]:
    found = [
        Mount(source(values, mount), target, mount.get("read_only", True))
        for target, mount in values.get("mounts", {}).items()
    ]
    data = _data(values, name)
    if data is not None:
        found.append(Mount(data, values["data"], read_only=False))
    return tuple(sorted(found, key=lambda mount: mount.target))


def _health(values: dict[str, Any], published: Published | None) -> Health | None:
    """Ask with the kind's own command, or with whatever HTTP client the image brings."""
    if "healthcheck" in values:
        words = tuple(values["healthcheck"])
        return Health(("CMD", *words), interval_s=15, timeout_s=10) if words else None
    if "health" not in values or published is None:
        return None
    url = f"http://127.0.0.1:{published.container_port}{values['health']}"
    return Health(
        ("CMD-SHELL", " || ".join(client.format(url=url) for client in _CLIENTS)), interval_s=15, timeout_s=15
    )
