"""Facts of the catalog about a deployment's model, if it is the model of its recipe."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac import catalog
from sparkiac.memory.counts import Counts
from sparkiac.memory.speed import Range
from sparkiac.memory.values import GIB
from sparkiac.resolve import catalogued

if TYPE_CHECKING:
    from sparkiac.model.facts import Architecture, WeightSizes

_GB: Final = 10**9


class CatalogFacts(NamedTuple):
    """Facts of the catalog about a model, as far as rules and the memory proof use them."""

    kind: str | None
    """`dense`, `moe`, `hybrid-dense` or `hybrid-moe`."""
    format: str | None
    """Format of the weights: NVFP4, FP8, BF16 …"""
    checkpoint: str | None
    """Tool that wrote the checkpoint: `modelopt`, `compressed-tensors` …"""
    native_context: int | None
    thinks: bool | None
    """Whether it reasons before it answers, by default."""
    modalities: tuple[str, ...]
    weights_bytes: int | None
    """Loaded size, or the size on disk if the loaded size is unknown."""
    drafter_bytes: int | None = None
    """Size of the drafter."""
    counts: Counts | None = None
    """Layers and heads."""
    parameters: tuple[float, float] | None = None
    """Parameters in billions: total, and active per token."""
    prefill: Range | None = None
    """Prefill rate that a source measured, in tokens per second."""
    gated: bool | None = None
    """Whether the download needs an accepted licence and a token."""


def facts(recipe: str | None, variant: str | None, *, model: str) -> CatalogFacts | None:
    """Return the facts about `model` if the recipe or its variant serves that model."""
    if recipe is None:
        return None
    known, edited = catalog.recipe(recipe), catalog.variant(recipe, variant) if variant else None
    found = None
    for entry in (known.value if known else None, edited.value if edited else None):
        if entry is not None and entry.model == model and entry.facts is not None:
            found = entry.facts
    if found is None:
        return None
    shape, quantization = found.architecture, found.quantization
    return CatalogFacts(
        kind=shape.kind,
        format=quantization.format if quantization else None,
        checkpoint=quantization.checkpoint if quantization else None,
        native_context=shape.native_context,
        thinks=found.thinks,
        modalities=found.modalities,
        weights_bytes=_size(found.weights),
        drafter_bytes=_gb(found.weights.drafter_gb if found.weights else None),
        counts=Counts(**{name: getattr(shape, name) for name in Counts._fields}),
        parameters=_parameters(shape),
        prefill=None if found.prefill is None else Range(**found.prefill.model_dump()),
        gated=found.gated,
    )


@cache
def of_model(handle: str) -> CatalogFacts | None:
    """Return the facts about a model from the first catalog entry that serves it and has facts."""
    entries = (each.name.partition("#") for each in catalogued.serving(handle))
    return next(filter(None, (facts(recipe, variant or None, model=handle) for recipe, _, variant in entries)), None)


def _size(weights: WeightSizes | None) -> int | None:
    """Return the loaded size, or the size on disk if the loaded size is unknown."""
    if weights is None:
        return None
    if weights.loaded_gib is not None:
        return int(weights.loaded_gib * GIB)
    return _gb(weights.loaded_gb or weights.disk_gb)


def _gb(size: float | None) -> int | None:
    return None if size is None else int(size * _GB)


def _parameters(shape: Architecture) -> tuple[float, float] | None:
    if shape.total_params_b is None:
        return None
    active = shape.total_params_b if shape.kind == "dense" else shape.active_params_b
    return None if active is None else (shape.total_params_b, active)
