"""What images themselves said of their vLLM, given to hosts that run them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.catalog.interfaces import Interface
    from sparkiac.plan.image import Image
    from sparkiac.plan.values import Container, HostPlan


def with_interfaces(host: HostPlan, interfaces: Mapping[str, Interface]) -> HostPlan:
    """Give each image of a host the interface that stands under its digest or its ID."""
    return host._replace(containers=tuple(_container(each, interfaces) for each in host.containers))


def _container(container: Container, interfaces: Mapping[str, Interface]) -> Container:
    return container._replace(image=_image(container.image, interfaces))


def _image(image: Image, interfaces: Mapping[str, Interface]) -> Image:
    return image._replace(interface=interfaces.get(image.digest or "") or interfaces.get(image.id or ""))
