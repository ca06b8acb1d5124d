"""The entries of the catalog that a deployment uses, and the facts about its model."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sparkiac import catalog
from sparkiac.plan.parts import SupersededEntry
from sparkiac.resolve import catalogued

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sparkiac.catalog.library import Library
    from sparkiac.model.catalog import CatalogEntry, Recipe, Variant
    from sparkiac.model.facts import ModelFacts
    from sparkiac.model.inventory import Deployment
    from sparkiac.plan.container import ModelServer
    from sparkiac.report import Path


class UsedRecipe(NamedTuple):
    """The recipe of a deployment with its variant; empty for a deployment without one."""

    name: str | None = None
    """vendor/name, or vendor/name#variant."""
    entries: tuple[Recipe | Variant, ...] = ()
    """The recipe, and the variant if there is one."""
    options: Mapping[str, Any] = {}
    """Engine options, without those of the inventory."""


def used(written: Deployment, library: Library) -> UsedRecipe:
    """Return the recipe of a deployment."""
    if written.recipe is None:
        return UsedRecipe()
    name = catalogued.full_name(written.recipe, written.variant)
    found = catalogued.named(name, library)
    return UsedRecipe(name, found.entries, found.values.get("set", {}))


def superseded(deployment: str, fragments: Iterable[str], recipe: UsedRecipe) -> Iterator[SupersededEntry]:
    """Yield the entries of a deployment whose status is `superseded`."""
    base: Path = ("deployments", deployment)
    found: list[tuple[str, CatalogEntry, Path]] = []
    if recipe.name:
        labels = {"recipe": recipe.name.partition("#")[0], "variant": recipe.name}
        found += [(labels[key], entry, (*base, key)) for key, entry in zip(labels, recipe.entries, strict=False)]
    for index, chosen in enumerate(fragments):
        fragment = catalog.fragment(chosen)
        assert fragment is not None and fragment.value is not None, "references were checked"  # noqa: S101, PT018
        found.append((f"fragment {chosen}", fragment.value, (*base, "fragments", index)))
    for label, entry, path in found:
        if entry.status == "superseded":
            yield SupersededEntry(path, label, entry.why or "", entry.instead)


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
