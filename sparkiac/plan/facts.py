"""What the catalog knows of a deployment's model: only where the model is its recipe's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac import catalog
from sparkiac.plan.parts import GIB

if TYPE_CHECKING:
    from sparkiac.model.facts import Weights

_GB: Final = 10**9


class Facts(NamedTuple):
    """What the catalog knows of a model, as far as rules ask for it."""

    kind: str | None
    """`dense`, `moe`, `hybrid-dense` or `hybrid-moe`."""
    format: str | None
    """Format of the weights: NVFP4, FP8, BF16 …"""
    checkpoint: str | None
    """Tool that wrote the checkpoint: `modelopt`, `compressed-tensors` …"""
    native_context: int | None
    thinks: bool | None
    """Whether it reasons before it answers unless told otherwise."""
    modalities: tuple[str, ...]
    weights_bytes: int | None
    """Loaded size, or else the size on disk."""
    gated: bool | None = None
    """Whether the download needs an accepted licence and a token."""


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
        gated=found.gated,
    )


def _size(weights: Weights | None) -> int | None:
    """Give the loaded size, or else the size on disk."""
    if weights is None:
        return None
    if weights.loaded_gib is not None:
        return int(weights.loaded_gib * GIB)
    size_gb = weights.loaded_gb or weights.disk_gb
    return None if size_gb is None else int(size_gb * _GB)
