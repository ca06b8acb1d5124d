"""What a host's driver is compared with, beside the version that the inventory names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.plan.contract import DoubtedDriver, ImageDriver

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.plan.values import Container

_GB10: Final = "12.1"
_590: Final = (
    "SM121 reference L20-23 saw CUDA graphs hang on it, and dual-Spark post L3 serves on it: "
    "test it under load before it serves"
)


def doubted(host: ResolvedHost, containers: tuple[Container, ...]) -> tuple[DoubtedDriver, ...]:
    """Name the driver series that sources disagree on; the inventory may still choose one."""
    capability = host.gpu.compute_capability if host.gpu else None
    if capability != _GB10 or not any(container.confinement.gpu for container in containers):
        return ()
    return (DoubtedDriver("590", _590),)


def of_images(containers: Iterable[Container]) -> tuple[ImageDriver, ...]:
    """Give the oldest driver of each unit whose image is known to want one."""
    return tuple(
        ImageDriver(container.name, tag.min_driver, tag.forward_compat)
        for container in containers
        if (tag := container.image.tag) is not None and tag.min_driver is not None
    )
