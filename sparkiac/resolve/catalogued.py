"""Convert catalog entries into layers, which the layers of the inventory override."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sparkiac import catalog, engines
from sparkiac.catalog import evidence, releases
from sparkiac.catalog.library import SHIPPED, Library
from sparkiac.engines import Engine
from sparkiac.model import references
from sparkiac.model.catalog import Recipe, Status, Variant
from sparkiac.model.facts import ModelFacts
from sparkiac.model.settings import Serving, Settings
from sparkiac.report import Origin, Path
from sparkiac.resolve.leaves import Leaves, constant, merge, nest, of_entry

_SETTINGS: Final = tuple(Settings.model_fields)
_SERVING: Final = tuple(Serving.model_fields)
_OF_METHOD: Final = "speculative "
"""Beginning of the name of a layer with the defaults of a speculative method."""
_IPC: Final = ("container", "ipc")
_SHM_GIB: Final = 16
"""The smallest /dev/shm with which a source runs a server (Spark guide L263): a limit, not a reservation."""


class Catalogued(NamedTuple):
    """A recipe, or a recipe with one of its variants, as it would be deployed."""

    name: str
    """vendor/name, or vendor/name#variant."""
    recipe: Recipe
    variant: Variant | None
    leaves: Leaves
    values: dict[str, Any]

    @property
    def entry(self) -> Recipe | Variant:
        """Return the catalog entry: the variant if there is one, else the recipe."""
        return self.variant or self.recipe

    @property
    def entries(self) -> tuple[Recipe | Variant, ...]:
        """Return the recipe and the variant, if there is one."""
        return tuple(filter(None, (self.recipe, self.variant)))

    @property
    def status(self) -> Status:
        """Return the status; a variant of a recipe that cannot be deployed cannot be deployed either."""
        return self.recipe.status if self.entry.status == "recipe" else self.entry.status

    @property
    def usable(self) -> bool:
        """Return whether it can be deployed."""
        return self.status == "recipe"

    @property
    def nodes(self) -> int:
        """Return the number of hosts that it needs."""
        return (self.variant.nodes if self.variant else None) or self.recipe.nodes

    @property
    def use_cases(self) -> tuple[str, ...]:
        """Return the use cases of the recipe and the variant, sorted."""
        return tuple(sorted({*self.recipe.use_cases, *self.entry.use_cases}))

    @property
    def facts(self) -> ModelFacts:
        """Return the facts about its model."""
        return (self.variant.facts if self.variant else None) or self.recipe.facts


def layers(
    recipe: str | None, variant: str | None, fragments: tuple[str, ...] = (), *, library: Library = SHIPPED
) -> Iterator[Leaves]:
    """Return the layers of a recipe, its variant and fragments; the names must exist."""
    if recipe is not None:
        known = library.recipe(recipe)
        assert known is not None, "references were checked"  # noqa: S101
        yield of_entry(known.document, layer=f"recipe {recipe}", keys=(*_SERVING, "engine", "nodes"))
    if recipe is not None and variant is not None:
        edited = library.variant(recipe, variant)
        assert edited is not None, "references were checked"  # noqa: S101
        yield of_entry(edited.document, layer=f"variant {recipe}#{variant}", keys=(*_SERVING, "nodes"))
    yield from map(of_fragment, fragments)


def own_memory(chosen: Leaves, library: Library = SHIPPED) -> Leaves:
    """Return the /dev/shm of a server on one host, if a shipped entry has that of the host, as its sources print."""
    value, origin = chosen.get(_IPC, (None, None))
    if value != "host" or origin is None or origin.layer.partition(" ")[2] in {*library.recipes, *library.variants}:
        return {}
    own = constant({"container": {"ipc": "private", "shm_size_gib": _SHM_GIB}}, layer="a server on one host")
    return {path: leaf for path, leaf in own.items() if path == _IPC or path not in chosen}


def merged(
    recipe: str | None, variant: str | None, fragments: tuple[str, ...], *own: Leaves, library: Library = SHIPPED
) -> Leaves:
    """Merge engine, catalog, speculation and the inventory's `own` layers."""
    return merge(*stack(recipe, variant, fragments, *own, library=library))


def stack(
    recipe: str | None,
    variant: str | None,
    fragments: tuple[str, ...],
    *own: Leaves,
    group: Leaves | None = None,
    library: Library = SHIPPED,
) -> tuple[Leaves, ...]:
    """Return these layers, lowest first; `group` is what a node of a group needs.

    Without a recipe, one of the `own` layers must set the engine.
    """
    chosen = tuple(layers(recipe, variant, fragments, library=library))
    engine = engines.named(merge(*chosen, *own)["engine",][0])
    defaults, above = constant(engine.defaults, layer=f"engine {engine.name}"), (group or {}, *chosen, *own)
    leaves = merge(defaults, *above)
    if ("speculative",) not in leaves:
        return (defaults, *above)
    return (defaults, *_needed(leaves, engine, library), *above, _completed(leaves))


def _needed(leaves: Leaves, engine: Engine, library: Library) -> Iterator[Leaves]:
    """Yield what the chosen method needs in the release that the image names; recipes and the inventory override it."""
    method, image = leaves["speculative",][0]["method"], leaves.get(("image",))
    release = _release(image[0], library) if image else None
    for sheet in evidence.sheets():
        for fact in sheet.facts:
            chosen = fact.engine == engine.name and fact.when.get("speculative.method") == method
            if chosen and fact.default and fact.releases and fact.releases.include(release):
                reason = next(filter(None, (each.note for each in fact.evidence)), fact.verdict)
                origin = Origin(f"{_OF_METHOD}{method}: {sheet.code}, {reason}")
                yield {tuple(name.split(".")): (value, origin) for name, value in fact.default.items()}


def of_method(leaves: Leaves) -> Iterator[tuple[Path, str]]:
    """Yield the path of each default that a speculative method adds, and a text with its value and reason."""
    for path, (value, origin) in leaves.items():
        if origin.layer.startswith(_OF_METHOD):
            yield path, f"{path[-1]}: {value}, a default of {origin}"


def _release(reference: str, library: Library) -> str | None:
    """Return the vLLM release that the library knows for an image, or that its tag names."""
    tagged, _, digest = reference.partition("@")
    repository, tag = references.split(tagged)
    return releases.of_image(library.image_family(repository), repository, tag=tag, digest=digest or None)


def _completed(leaves: Leaves) -> Leaves:
    """Fill in drafter and number of tokens from the catalog, as a layer above all others."""
    chosen, origin = leaves["speculative",]
    target = leaves["model",][0] if ("model",) in leaves else None
    pair = catalog.drafter(target, method=chosen["method"])
    if pair is None:
        return {}
    known = {"model": pair.drafter, "num_speculative_tokens": pair.num_speculative_tokens}
    added = {key: value for key, value in known.items() if value is not None and chosen.get(key) is None}
    layer = f"{origin.layer}, completed from the table of drafters"
    return {("speculative",): (chosen | added, Origin(layer, origin.file, origin.mark))} if added else {}


def of_fragment(name: str) -> Leaves:
    """Return the layer of a fragment; the name must exist."""
    known = catalog.fragment(name)
    assert known is not None, "the name is known"  # noqa: S101
    return of_entry(known.document, layer=f"fragment {name}", keys=_SETTINGS)


def names(library: Library = SHIPPED) -> tuple[str, ...]:
    """Return the names of all recipes and variants, each recipe before its variants."""
    return tuple(name for recipe in library.recipe_names() for name in (recipe, *variants(recipe, library)))


def full_name(recipe: str, variant: str | None) -> str:
    """Return the name of a recipe with its variant, if there is one."""
    return f"{recipe}#{variant}" if variant else recipe


def variants(recipe: str, library: Library = SHIPPED) -> tuple[str, ...]:
    """Return the full names of a recipe's variants, sorted."""
    return tuple(f"{recipe}#{variant}" for variant in library.variant_names(recipe))


def named(name: str, library: Library = SHIPPED) -> Catalogued:
    """Return the entry of a name; the name must exist."""
    recipe, _, variant = name.partition("#")
    known, edited = library.recipe(recipe), library.variant(recipe, variant) if variant else None
    assert known is not None, "the name is known"  # noqa: S101
    leaves = merged(recipe, variant or None, (), library=library)
    return Catalogued(name, known.valid, edited.value if edited else None, leaves, nest(leaves))


def serving(model: str) -> Iterator[Catalogued]:
    """Return the shipped recipes and variants that serve a model handle, each recipe before its variants."""
    return (each for each in map(named, catalog.holding(model)) if each.values.get("model") == model)


def everything(library: Library = SHIPPED) -> tuple[Catalogued, ...]:
    """Return all recipes and variants, each recipe before its variants."""
    return tuple(named(name, library) for name in names(library))
