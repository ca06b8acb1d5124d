"""docker-compose: one project; for a group, one service for each machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac.exporters import node
from sparkiac.exporters.node import Exported
from sparkiac.render import escape, yamltext

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.exporters.node import HostContainer
    from sparkiac.plan import Container

_GPU: Final = {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}


def write(nodes: Sequence[HostContainer]) -> Exported:
    """Write a deployment. Paths on the host are those of the inventory."""
    first = nodes[0].container
    notes = [*node.notes(nodes), *node.weights(first)]
    names = [each.host.name for each in nodes] if len(nodes) > 1 else [first.name]
    if len(nodes) > 1:
        notes += [f"on {name}: docker compose up --detach {name}" for name in names]
    notes += node.cache_notes(first)
    services = {name: _service(each.container) for name, each in zip(names, nodes, strict=True)}
    data: dict[str, Any] = {"name": first.name, "services": services}
    if (volume := node.compile_cache(first)) is not None:
        data["volumes"] = {volume[0]: {"name": volume[0]}}
    head = node.as_comments((*node.heading(first), *notes))
    return Exported(head + yamltext.dump(data), tuple(notes))


def _service(container: Container) -> dict[str, Any]:
    """Return a service that Docker restarts itself."""
    entrypoint, words = node.entrypoint(container)
    service: dict[str, Any] = {
        "image": node.image(container),
        "restart": "unless-stopped",
        "init": True,
        "entrypoint": [entrypoint] if entrypoint else None,
        "command": [*words],
        "environment": dict(sorted(container.command.env.items())),
        "volumes": _volumes(container),
        "ports": _ports(container),
        "network_mode": "host" if container.network.host else None,
        "ipc": "host" if container.confinement.ipc == "host" else None,
        "shm_size": None if container.confinement.ipc == "host" else container.confinement.shm_size_bytes,
        "ulimits": dict(sorted(container.confinement.ulimits.items())),
        "devices": [*container.confinement.devices],
        "deploy": {"resources": {"reservations": {"devices": [_GPU]}}} if container.confinement.gpu else None,
        "healthcheck": _healthcheck(container),
        "stop_grace_period": f"{container.timeouts.stop_s}s",
        **_confinement(container),
    }
    tree: Any = escape.compose_tree({key: value for key, value in service.items() if value not in (None, [], {})})
    keys = {name: f"${{{name}:?must contain the key}}" for name in node.secret_variables(container)}
    return {**tree, **({"environment": {**keys, **tree.get("environment", {})}} if keys else {})}


def _volumes(container: Container) -> list[dict[str, Any]]:
    volumes: list[dict[str, Any]] = [
        {"type": "bind", "source": mount.source, "target": mount.target}
        | ({"read_only": True} if mount.read_only else {})
        | {"bind": {"create_host_path": False}}
        for mount in node.mounts(container)
    ]
    volume = node.compile_cache(container)
    return [*volumes, *([{"type": "volume", "source": volume[0], "target": volume[1]}] if volume else [])]


def _ports(container: Container) -> list[dict[str, Any]]:
    found = container.network.published
    if found is None:
        return []
    return [{"host_ip": found.address, "published": str(found.port), "target": found.container_port, "protocol": "tcp"}]


def _healthcheck(container: Container) -> dict[str, Any] | None:
    check = node.health_command(container)
    if check is None:
        return None
    return {
        "test": ["CMD", *check],
        "interval": "15s",
        "timeout": "5s",
        "start_period": f"{container.timeouts.ready_s}s",
    }


def _confinement(container: Container) -> dict[str, Any]:
    """Return the limits of every container: no capabilities, no new privileges, a read-only image, a limited log."""
    return {
        "read_only": container.confinement.read_only,
        "tmpfs": [f"/tmp:rw,exec,nosuid,nodev,size={container.confinement.tmp_size_bytes},mode=1777"],  # noqa: S108  in the container
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "pids_limit": 4096,
        "logging": {"options": {"max-size": "50m"}},
    }
