"""The probes of a pod. The health check of the compose file decides when it has started and whether it must restart.

That check keeps a state between two runs, so only one probe runs it at a time: the startup probe, and after it the
liveness probe. The readiness probe, which runs beside the liveness probe, requests the health endpoint.
"""

from __future__ import annotations

from typing import Any, Final

from sparkiac.plan import Container, Health
from sparkiac.render.compose import RETRIES, START_INTERVAL_S

_READY_PERIOD_S: Final = 5
_READY_TIMEOUT_S: Final = 5
_EVERY: Final = "0.0.0.0"  # noqa: S104  compared, not bound


def probes(container: Container) -> dict[str, Any]:
    """Return the startup, liveness and readiness probes."""
    health = container.checks.health
    if health is None:
        return {}
    check = {"exec": {"command": _command(health)}, "timeoutSeconds": health.timeout_s}
    attempts = -(-container.timeouts.ready_s // START_INTERVAL_S)
    return {
        "startupProbe": check | {"periodSeconds": START_INTERVAL_S, "failureThreshold": attempts},
        "livenessProbe": check | {"periodSeconds": health.interval_s, "failureThreshold": RETRIES},
        **_readiness(container),
    }


def _command(health: Health) -> list[str]:
    kind, *words = health.command
    return ["/bin/sh", "-c", *words] if kind == "CMD-SHELL" else words


def _readiness(container: Container) -> dict[str, Any]:
    """Return the readiness probe; a pod without HTTP, such as a worker of a group, is ready once it has started."""
    listen, published = container.network.listen, container.network.published
    if container.checks.path is None or listen is None:
        return {}
    address, port = ("", published.container_port) if published else listen
    host = {} if address in {"", _EVERY} else {"host": address}
    get = {"path": container.checks.path, "port": port, **host}
    return {"readinessProbe": {"httpGet": get, "periodSeconds": _READY_PERIOD_S, "timeoutSeconds": _READY_TIMEOUT_S}}
