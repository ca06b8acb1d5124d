"""Helpers for rules about deployments: vLLM deployments on sm_121 GPUs, facts about a model, and hits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.report import Edit
from sparkiac.rules.rule import Hit
from sparkiac.rules.shares import sparks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container, HostPlan, Plan
    from sparkiac.report import Removal, Scalar, Severity

_DOCKER_HUB: Final = "docker.io/"


def deployments(plan: Plan) -> Iterator[tuple[HostPlan, Container]]:
    """Return the vLLM deployments on sm_121 GPUs; for a group, its leader."""
    for host in sparks(plan):
        for container in host.containers:
            if container.server.engine == "vllm" and container.server.leads:
                yield host, container


def model(container: Container) -> str:
    """Return the model handle of a deployment in lower case, because hubs ignore case."""
    return (container.server.model or "").casefold()


def image(container: Container) -> str:
    """Return the image with its tag, without the digest and without the host of the default registry."""
    return container.image.reference.partition("@")[0].removeprefix(_DOCKER_HUB)


def hit(  # noqa: PLR0913, PLR0917  the parts of a hit
    host: HostPlan,
    container: Container,
    key: tuple[str, ...],
    message: str,
    hint: str,
    severity: Severity | None = None,
    *,
    fix: tuple[Edit, ...] = (),
) -> Hit:
    """Return a hit for a setting of a deployment."""
    path, leaf = (*container.path, *key), (*container.path, host.name, *key)
    return Hit(path, message, hint, leaf=leaf, host=host.name, severity=severity, fix=fix)


def written(container: Container, *key: str, value: Scalar | Removal) -> tuple[Edit, ...]:
    """Return the fix that sets or removes a setting of a deployment."""
    return (Edit((*container.path, *key), value),)
