"""The catalog's facts about a deployment's model."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from sparkiac import catalog
from sparkiac.resolve import catalogued

if TYPE_CHECKING:
    from sparkiac.model.facts import ModelFacts
    from sparkiac.plan.container import ModelServer


def facts(recipe: str | None, variant: str | None, *, model: str) -> ModelFacts | None:
    """Return the facts of `model` if the recipe, or its variant, serves it."""
    if recipe is None:
        return None
    known, edited = catalog.recipe(recipe), catalog.variant(recipe, variant) if variant else None
    found = None
    for entry in (known.value if known else None, edited.value if edited else None):
        if entry is not None and entry.model == model and entry.facts is not None:
            found = entry.facts
    return found


def known(server: ModelServer) -> ModelFacts | None:
    """Return the facts of a server's model: from its own recipe, else from any entry that serves the model."""
    return server.facts or (_of_model(server.model) if server.model else None)


@cache
def _of_model(handle: str) -> ModelFacts | None:
    entries = (each.name.partition("#") for each in catalogued.serving(handle))
    return next(filter(None, (facts(recipe, variant or None, model=handle) for recipe, _, variant in entries)), None)
