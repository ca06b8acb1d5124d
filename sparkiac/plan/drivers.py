"""Driver versions that the preflight compares with the one on a host, besides the version in the inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac import catalog
from sparkiac.plan.contract import DoubtedDriver, ImageDriver

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.plan.values import Container


def disputed(host: ResolvedHost, containers: tuple[Container, ...]) -> tuple[DoubtedDriver, ...]:
    """Return the driver series that sources disagree on for this host; the inventory may still name one of them."""
    if host.gpu is None or not any(container.confinement.gpu for container in containers):
        return ()
    return tuple(
        DoubtedDriver(each.series, each.why)
        for each in catalog.doubted_drivers()
        if each.compute_capability == host.gpu.compute_capability
    )


def required_by_images(containers: Iterable[Container]) -> tuple[ImageDriver, ...]:
    """Return the oldest driver of each unit whose image is known to require one."""
    return tuple(
        ImageDriver(container.name, tag.min_driver, tag.forward_compat)
        for container in containers
        if (tag := container.image.tag) is not None and tag.min_driver is not None
    )
