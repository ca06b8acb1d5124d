"""Render a container as a docker-compose project with one hardened, pinned service that systemd supervises."""

from __future__ import annotations

from typing import Any, Final

from sparkiac.engines.engine import CACHE
from sparkiac.host.generation import mac_address
from sparkiac.plan import BindMount, Container, Export, Health, confinement, weights
from sparkiac.plan.preflight import cache_path, fabric_variables_path
from sparkiac.render import escape, yamltext

_NO_KEY: Final = "none"
"""Entry in a list of keys for a server that requires no key."""
_NO_NAMES: Final = ["127.0.0.1"]
"""Server for names outside of Docker, in the container itself: a question fails at once, and none leaves the host."""
RETRIES: Final = 4
"""Health checks in a row that must fail before a container counts as unhealthy."""
START_INTERVAL_S: Final = 5
"""Time between two health checks of a container that is not ready yet."""
_ROOT: Final = "0:0"
"""User of a node of a group. Its health check runs as that user, and nftables lets only root reach a closed port."""
_GRACE_MARGIN_S: Final = 30
"""The container must stop this long before systemd's stop timeout, which would leave it running."""


def project(container: Container) -> bytes:
    """Render the compose file of one container."""
    data: dict[str, Any] = {"name": container.unit, "services": {"server": escape.compose_tree(_service(container))}}
    if container.secrets:
        credentials = f"/run/credentials/{container.unit}.service"
        data["secrets"] = {secret.name: {"file": f"{credentials}/{secret.name}"} for secret in container.secrets}
    if container.network.shared:
        data["networks"] = {container.network.shared: {"name": container.network.shared, "external": True}}
    return yamltext.generated(data)


def _service(container: Container) -> dict[str, Any]:
    shared = container.network.shared
    wanted = {
        "image": container.image.pull,
        "pull_policy": "never",
        "restart": "no",
        "init": True,
        "entrypoint": entrypoint(container),
        "command": command(container),
        "env_file": _env_file(container),
        "environment": dict(container.command.env),
        "volumes": _volumes(container),
        "secrets": [{"source": secret.name, "target": secret.target} for secret in container.secrets],
        "ports": ports(container),
        "network_mode": "host" if container.network.host else None,
        "networks": {shared: {"aliases": [container.name]}} if shared else None,
        "dns": _NO_NAMES if container.network.egress == () else None,
        "mac_address": mac_address(container.unit) if container.network.published else None,
        "extra_hosts": list(container.network.extra_hosts),
        **confinement.compose(confinement.ACCESS, container.confinement),
        "ipc": "host" if container.confinement.ipc == "host" else None,
        "healthcheck": _healthcheck(container.checks.health, container.timeouts.ready_s)
        if container.checks.health
        else None,
        "stop_grace_period": f"{grace_s(container.timeouts.stop_s)}s",
        **confinement.compose(confinement.LIMITS, _confined(container)),
        "logging": {"driver": "json-file", "options": {"max-size": "50m", "max-file": "5"}},
    }
    return {key: value for key, value in wanted.items() if value not in (None, [], {})}


def _confined(container: Container) -> confinement.Confinement:
    grouped = container.network.host and container.kind == "deployment"
    return container.confinement._replace(user=_ROOT) if grouped else container.confinement


def _env_file(container: Container) -> list[dict[str, Any]]:
    """Return the reference to the file that preflight writes at every start; Compose does not require the file."""
    path = fabric_variables_path(container)
    return [] if path is None else [{"path": path, "required": False}]


def entrypoint(container: Container, *, first: tuple[str, ...] = ()) -> list[str] | None:
    """Return the entrypoint, if it is not the image's: a shell runs pre-start commands and reads secrets first.

    The shell lines `first` run before everything else.
    """
    if not (first or container.command.needs_shell):
        return list(container.command.entrypoint or ()) or None
    lines = ["set -eu", *first, *map(escape.shell_command, container.command.pre_start)]
    for export in container.command.exports:
        lines += export_lines(export, {secret.name: secret.target for secret in container.secrets})
    return ["/bin/sh", "-c", "; ".join([*lines, 'exec "$@"']), "sh", *container.entrypoint]


def command(container: Container, *, shell: bool = False) -> list[str] | None:
    """Return the command. If a shell replaces the entrypoint, the command of the image is dropped, so it is repeated.

    `shell` is set if a shell runs first for a reason outside the container's settings.
    """
    repeated = (shell or container.command.needs_shell) and container.image.command
    return list(container.command.words or repeated or ()) or None


def export_lines(export: Export, files: dict[str, str]) -> list[str]:
    """Return shell lines that export a variable with values from secret files; an empty secret aborts the start."""
    prints = [f"cat {escape.shell_word(files[name])}" if name else f"printf {_NO_KEY}" for name in export.secrets]
    checks = [f'test -n "$({each})"' for each in dict.fromkeys(prints) if each.startswith("cat ")]
    # The shell removes line ends from the end of an output, so a full stop follows the last value and is removed again.
    value = "; printf ';'; ".join(prints)
    name = export.variable
    return [*checks, f'{name}="$({value}; printf .)"', f'{name}="${{{name}%.}}"', f"export {name}"]


def grace_s(stop_s: int) -> int:
    """Return the stop grace period of the container, which is shorter than the stop timeout of the unit."""
    return max(stop_s - _GRACE_MARGIN_S, stop_s // 2, 1)


def _volumes(container: Container) -> list[dict[str, Any]]:
    extra = [BindMount(file.path, file.target, read_only=True) for file in container.storage.files]
    volumes = [bind(mount) for mount in sorted((*weights.mounted(container), *extra), key=lambda mount: mount.target)]
    cache = cache_path(container)
    if cache is not None:
        volumes.append({"type": "bind", "source": cache, "target": CACHE, "bind": {"create_host_path": False}})
    return volumes


def bind(mount: BindMount) -> dict[str, Any]:
    """Return the mount of a path that must exist."""
    volume: dict[str, Any] = {"type": "bind", "source": mount.source, "target": mount.target}
    if mount.read_only:
        volume["read_only"] = True
    propagation = {"propagation": "rslave"} if mount.follows else {}
    return volume | {"bind": {"create_host_path": False, **propagation}}


def ports(container: Container) -> list[dict[str, Any]]:
    """Return the published port."""
    published = container.network.published
    if published is None:
        return []
    return [
        {
            "host_ip": published.address,
            "published": str(published.port),
            "target": published.container_port,
            "protocol": "tcp",
        }
    ]


def _healthcheck(health: Health, ready_s: int) -> dict[str, Any]:
    return {
        "test": list(health.command),
        "interval": f"{health.interval_s}s",
        "timeout": f"{health.timeout_s}s",
        "retries": RETRIES,
        "start_period": f"{ready_s}s",
        "start_interval": f"{START_INTERVAL_S}s",
    }
