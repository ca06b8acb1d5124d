"""The catalog's facts about a deployment's model."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from sparkiac.resolve import catalogued

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.model.catalog import Recipe, Variant
    from sparkiac.model.facts import ModelFacts
    from sparkiac.plan.container import ModelServer


def facts(entries: Sequence[Recipe | Variant], *, model: str) -> ModelFacts | None:
    """Return the facts of `model` if one of the entries, a recipe and its variant, serves it."""
    found = (each.facts for each in reversed(entries) if each.model == model and each.facts is not None)
    return next(found, None)


def known(server: ModelServer) -> ModelFacts | None:
    """Return the facts of a server's model: from its own recipe, else from any entry that serves the model."""
    return server.facts or (_of_model(server.model) if server.model else None)


@cache
def _of_model(handle: str) -> ModelFacts | None:
    found = (facts(each.entries, model=handle) for each in catalogued.serving(handle))
    return next(filter(None, found), None)
