"""What a host's driver is compared with, beside the version that the inventory names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.plan.contract import DoubtedDriver, ImageDriver

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


def disputed(host: ResolvedHost, containers: tuple[Container, ...]) -> tuple[DoubtedDriver, ...]:
    """Name the driver series that sources disagree on; the inventory may still choose one."""
    capability = host.gpu.compute_capability if host.gpu else None
    if capability != _GB10 or not any(container.confinement.gpu for container in containers):
        return ()
    proven = any(container.server.model == _DEEPSEEK for container in containers)
    return (DoubtedDriver("590", _590), *(() if proven else (DoubtedDriver("595", _595),)))


def required_by_images(containers: Iterable[Container]) -> tuple[ImageDriver, ...]:
    """Give the oldest driver of each unit whose image is known to want one."""
    return tuple(
        ImageDriver(container.name, tag.min_driver, tag.forward_compat)
        for container in containers
        if (tag := container.image.tag) is not None and tag.min_driver is not None
    )
