"""Further checks of a host's driver: disputed series, and the drivers that images require."""

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
    "CUDA graphs hung with it (SM121 reference L20-23), but it also works (dual-Spark post L3): "
    "test it under load with CUDA graphs before it serves"
)
_595: Final = f"the only source that uses it (DeepSeek-V4 thread L346) runs {_DEEPSEEK} and nothing else"


def disputed(host: ResolvedHost, containers: tuple[Container, ...]) -> tuple[DoubtedDriver, ...]:
    """Return the driver series on which sources disagree; the inventory may still select one."""
    capability = host.gpu.compute_capability if host.gpu else None
    if capability != _GB10 or not any(container.confinement.gpu for container in containers):
        return ()
    proven = any(container.server.model == _DEEPSEEK for container in containers)
    return (DoubtedDriver("590", _590), *(() if proven else (DoubtedDriver("595", _595),)))


def required_by_images(containers: Iterable[Container]) -> tuple[ImageDriver, ...]:
    """Return the oldest driver for each unit whose image requires one."""
    return tuple(
        ImageDriver(container.name, tag.min_driver, tag.forward_compat)
        for container in containers
        if (tag := container.image.tag) is not None and tag.min_driver is not None
    )
