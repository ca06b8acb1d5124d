"""What a host's driver is compared with, beside the version that the inventory names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.plan.values import Container

_GB10: Final = "12.1"
_DEEPSEEK: Final = "deepseek-ai/DeepSeek-V4-Flash"
_590: Final = (
    "SM121 reference L20-23 saw CUDA graphs hang on it, dual-Spark post L3 runs on it: "
    "try it under load before it serves, and keep CUDA graphs"
)
_595: Final = f"the one source that runs it (DeepSeek-V4 thread L346) runs {_DEEPSEEK} on it and nothing else"


def doubted(host: ResolvedHost, containers: tuple[Container, ...]) -> list[dict[str, str]]:
    """Name the driver series that sources disagree on; the inventory may still choose one."""
    capability = host.gpu.compute_capability if host.gpu else None
    if capability != _GB10 or not any(container.confinement.gpu for container in containers):
        return []
    proven = any(container.server.model == _DEEPSEEK for container in containers)
    return [{"series": "590", "why": _590}, *([] if proven else [{"series": "595", "why": _595}])]


def of_images(containers: Iterable[Container]) -> list[dict[str, str]]:
    """Give the oldest driver of each unit whose image is known to want one."""
    found = []
    for container in containers:
        tag = container.image.tag
        if tag is not None and tag.min_driver is not None:
            older = {"forward_compat": tag.forward_compat} if tag.forward_compat is not None else {}
            found.append({"unit": container.name, "min_driver": tag.min_driver, **older})
    return found
