"""docker-compose: one project; for a group, one service for each machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparkiac.exporters import node
from sparkiac.exporters.node import Exported, HostContainer
from sparkiac.plan import Container, confinement
from sparkiac.render import compose, escape, yamltext


def write(nodes: Sequence[HostContainer]) -> Exported:
    """Write a deployment. Paths on the host are those of the inventory."""
    first = nodes[0].container
    notes = [*node.notes(nodes, "compose"), *node.weights(first)]
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
        "ports": compose.ports(container),
        "network_mode": "host" if container.network.host else None,
        **confinement.compose(confinement.ACCESS, container.confinement, exported=True),
        "healthcheck": _healthcheck(container),
        "stop_grace_period": f"{container.timeouts.stop_s}s",
        **confinement.compose(confinement.LIMITS, container.confinement, exported=True),
        "logging": {"options": {"max-size": "50m"}},
    }
    tree: Any = escape.compose_tree({key: value for key, value in service.items() if value not in (None, [], {})})
    keys = {name: f"${{{name}:?must contain the key}}" for name in node.secret_variables(container)}
    return {**tree, **({"environment": {**keys, **tree.get("environment", {})}} if keys else {})}


def _volumes(container: Container) -> list[dict[str, Any]]:
    volumes, cache = [compose.bind(mount) for mount in node.mounts(container)], node.compile_cache(container)
    return [*volumes, *([{"type": "volume", "source": cache[0], "target": cache[1]}] if cache else [])]


def _healthcheck(container: Container) -> dict[str, Any] | None:
    check, ready = node.health_command(container), f"{container.timeouts.ready_s}s"
    return {"test": ["CMD", *check], "interval": "15s", "timeout": "5s", "start_period": ready} if check else None
