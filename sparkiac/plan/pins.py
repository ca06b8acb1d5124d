"""Find pins that cannot be deployed: those of an example lock, and missing ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.plan.parts import UNLOCKED
from sparkiac.plan.weights import needed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sparkiac.plan.values import Container


def unpinned(containers: Iterable[Container], *, example: bool) -> tuple[str, ...]:
    """Return the images, models and files of a host without a real pin, sorted; `example`: the lock is an example."""
    return tuple(sorted({name for each in containers for name in _names(each, example=example)}))


def _names(container: Container, *, example: bool) -> Iterator[str]:
    image = container.image
    inline = "@" in image.reference and not image.copied  # a copied image runs by its ID, which only the lock knows
    if image.pull.endswith(UNLOCKED) or (example and not inline):
        yield image.reference
    yield from (name for name in needed(container) if example or name not in container.weights.commits)
    yield from (file.url for file in container.storage.files if example or file.sha256 is None)
