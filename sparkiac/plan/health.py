"""The health check of a deployment's container."""

from __future__ import annotations

import shlex
from typing import Final

from sparkiac.engines import Engine, Part
from sparkiac.plan.container import Checks, Container
from sparkiac.plan.parts import Health

INSIDE: Final = "/run/sparkiac"
"""Directory in the container with the probe and its list of API checks."""


def promise_file(name: str) -> str:
    """Return the path of the file on the host with the API checks of a container."""
    return f"/etc/sparkiac/{name}/promise.json"


def is_probed(container: Container) -> bool:
    """Return whether the health check of a container is the probe, which reads what the container promises."""
    return any(mount.source == promise_file(container.name) for mount in container.storage.mounts)


def checks(engine: Engine, part: Part, url: str | None) -> Checks:
    """Return the health checks; `url` is None for the worker of a group, which serves no HTTP to clients.

    The probe checks the API of the unit; its timeout is long enough for the first, slow answer. An image without
    Python can only check the health endpoint and the connections to the other nodes; the playbook checks the rest from
    the host.
    """
    command = _probe(url) if engine.python else _shell(part, url, engine.health)
    return Checks(Health(command, interval_s=15, timeout_s=150), engine.health if url else None)


def _probe(url: str | None) -> tuple[str, ...]:
    watch = ("CMD", "python3", f"{INSIDE}/lib/probe.py", "watch", f"{INSIDE}/promise.json")
    return watch if url is None else (*watch, "--at", url)


def _shell(part: Part, url: str | None, path: str) -> tuple[str, ...]:
    request = () if url is None else ("curl", "-fsS", "-m", "4", "-o", "/dev/null", f"{url}{path}")
    if not part.check:
        return ("CMD", *request)
    return ("CMD", "/bin/sh", "-c", " && ".join(filter(None, (shlex.join(request), part.check))))
