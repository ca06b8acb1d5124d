"""What the catalog knows of a deployment's model: only where the model is its recipe's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac import catalog
from sparkiac.plan.values import GIB, Facts

if TYPE_CHECKING:
    from sparkiac.model.facts import Weights

_GB: Final = 10**9


def facts(recipe: str, variant: str | None, *, model: str) -> Facts | None:
    """Give the facts of `model` if the recipe, or its variant, serves that one."""
    known, edited = catalog.recipe(recipe), catalog.variant(recipe, variant) if variant else None
    found = None
    for entry in (known.value if known else None, edited.value if edited else None):
        if entry is not None and entry.model == model and entry.facts is not None:
            found = entry.facts
    if found is None:
        return None
    shape, quantization = found.architecture, found.quantization
    return Facts(
        kind=shape.kind,
        format=quantization.format if quantization else None,
        checkpoint=quantization.checkpoint if quantization else None,
        native_context=shape.native_context,
        thinks=found.thinks,
        modalities=found.modalities,
        weights_bytes=_size(found.weights),
    )


def _size(weights: Weights | None) -> int | None:
    """Give the loaded size, or else the size on disk."""
    if weights is None:
        return None
    if weights.loaded_gib is not None:
        return int(weights.loaded_gib * GIB)
    size_gb = weights.loaded_gb or weights.disk_gb
    return None if size_gb is None else int(size_gb * _GB)
