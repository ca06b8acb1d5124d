"""The recipes that an inventory can use: the shipped ones, and those in files of the user's repository."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sparkiac import catalog
from sparkiac.catalog import interfaces, written
from sparkiac.catalog.interfaces import Captured, Interface
from sparkiac.catalog.written import FactFile
from sparkiac.model import forms, references
from sparkiac.model.catalog import Recipe, Variant
from sparkiac.model.images import ImageFamily
from sparkiac.report import Finding, Loc, Mark, Severity
from sparkiac.source import Source, load

_PATH: Final = ("RCP001", "recipe-path")
_TAKEN: Final = ("RCP002", "recipe-name-taken")
_NO_RECIPE: Final = ("RCP003", "variant-without-recipe")
INTERFACES: Final = "interfaces"
"""Folder of captured interfaces in a source; files in it are no recipes."""
IMAGES: Final = "images"
"""Folder in a source of what is known about images."""


class RecipeText(NamedTuple):
    """One file below a folder of recipes in the user's repository."""

    path: str
    """The path that messages show."""
    parts: tuple[str, ...]
    """The path below the folder, without its suffix: vendor, name and, for a variant, its name."""
    raw: bytes

    @property
    def name(self) -> str:
        """Return the name of the entry: vendor/name or vendor/name#variant."""
        return "#".join(filter(None, ("/".join(self.parts[:2]), *self.parts[2:])))

    @property
    def below(self) -> str:
        """Return the path below the folder, as the lock names it."""
        return f"{'/'.join(self.parts)}.yaml"


class Library(NamedTuple):
    """Recipes and variants by name. Those of the user's repository are additions: they replace no shipped one."""

    recipes: Mapping[str, Source[Recipe]] = MappingProxyType({})
    """Recipes of the user's repository."""
    variants: Mapping[str, Source[Variant]] = MappingProxyType({})
    """Variants of the user's repository, by vendor/name#variant; their recipe can be a shipped one."""
    facts: Mapping[str, Source[FactFile]] = MappingProxyType({})
    """Facts of the user's repository, by file. They stand beside those of the catalog and replace none."""
    interfaces: Mapping[str, Interface] = MappingProxyType({})
    """Digest of an image → the options of its vLLM, captured by others."""
    images: Mapping[str, Source[ImageFamily]] = MappingProxyType({})
    """Repository with its registry → what others know about its images. They replace none of the catalog."""

    def recipe(self, name: str) -> Source[Recipe] | None:
        """Return a recipe, or None if there is none. A recipe of the user has no value if its file is not valid."""
        return self.recipes.get(name) or catalog.recipe(name)

    def variant(self, recipe: str, name: str) -> Source[Variant] | None:
        """Return the variant `name` of a recipe, or None if there is none."""
        return self.variants.get(f"{recipe}#{name}") or catalog.variant(recipe, name)

    def image_family(self, repository: str) -> ImageFamily | None:
        """Return what is known about the images of a repository; None if nothing is."""
        found = self.images.get(references.full(repository)) or catalog.image_family(repository)
        return found.value if found else None

    def recipe_names(self) -> tuple[str, ...]:
        """Return the names of all recipes, sorted."""
        return tuple(sorted({*catalog.recipe_names(), *self.recipes}))

    def variant_names(self, recipe: str) -> tuple[str, ...]:
        """Return the names of a recipe's variants, sorted."""
        own = (variant for of, _, variant in (name.partition("#") for name in self.variants) if of == recipe)
        return tuple(sorted({*catalog.variant_names(recipe), *own}))

    def file(self, name: str) -> str | None:
        """Return the file of a recipe or variant of the user's repository; None for a shipped one."""
        found: Source[Any] | None = self.recipes.get(name) or self.variants.get(name)
        return found.document.name if found else None


SHIPPED: Final = Library()


def read(files: Iterable[RecipeText]) -> tuple[Library, tuple[Finding, ...]]:
    """Return the library with the recipes, variants and facts of these files, and the findings about the files."""
    recipes: dict[str, Source[Recipe]] = {}
    variants: dict[str, Source[Variant]] = {}
    facts: dict[str, Source[FactFile]] = {}
    captures: dict[str, Interface] = {}
    images: dict[str, Source[ImageFamily]] = {}
    findings: list[Finding] = []
    for file in files:
        if file.parts[0] == written.FOLDER:
            facts[file.path] = load(file.raw, name=file.path, model=FactFile)
            findings += facts[file.path].findings
            continue
        if file.parts[0] == INTERFACES:
            captured = _captured(file)
            findings += [captured] if isinstance(captured, Finding) else []
            captures |= {} if isinstance(captured, Finding) else dict.fromkeys(captured.digests, captured.interface)
            continue
        if file.parts[0] == IMAGES:
            family: Source[ImageFamily] = load(file.raw, name=file.path, model=ImageFamily)
            faults = family.findings or tuple(_unfit(family, images))
            findings += faults
            if not faults:
                images[references.full(family.valid.repository or "")] = family
            continue
        variant = len(file.parts) > 2  # noqa: PLR2004  vendor and name
        found: Source[Any] = load(file.raw, name=file.path, model=Variant if variant else Recipe)
        own: dict[str, Source[Any]] = variants if variant else recipes
        refused = tuple(_misplaced(file, found, own.get(file.name)))
        findings += (*refused, *found.findings)
        if not refused:
            own[file.name] = found
    library = Library(recipes, variants, facts, captures, images)
    return library, (*findings, *_alone(library))


def _captured(file: RecipeText) -> Captured | Finding:
    try:
        return interfaces.captured(file.raw)
    except (ValueError, RecursionError) as error:
        place, hint = Loc(file.path, Mark(1, 1, 1, 1), ""), "capture it with `sparkiac images capture`"
        return Finding("INV002", "value", Severity.ERROR, f"not the interface of an image: {error}", place, hint)


def _unfit(family: Source[ImageFamily], others: Mapping[str, Source[ImageFamily]]) -> Iterator[Finding]:
    """Refuse facts about images without a repository, or about one that others have facts about."""
    repository, place = family.valid.repository, family.document.at_key(("repository",))
    if repository is None:
        yield Finding("INV002", "value", Severity.ERROR, "repository is missing", place, "name it, without a tag")
        return
    other = others.get(references.full(repository))
    taken = other.document.name if other else "the catalog of sparkiac" if catalog.image_family(repository) else None
    if taken:
        message = f"{repository} is also in {taken}; the images of one repository have one file"
        yield Finding(*_TAKEN, Severity.ERROR, message, place, "remove the file")


def _misplaced(file: RecipeText, found: Source[Any], other: Source[Any] | None) -> Iterator[Finding]:
    """Refuse invalid or duplicate entry names."""
    place = found.document.at_key(())
    if not re.fullmatch(forms.ENTRY, file.name):
        message = f"the path of this file is not the name of a recipe: {file.name}"
        hint = "name it VENDOR/NAME.yaml, or VENDOR/NAME/VARIANT.yaml, in lower-case letters, digits and . _ -"
        yield Finding(*_PATH, Severity.ERROR, message, place, hint)
        return
    taken = other.document.name if other else "the catalog of sparkiac" if _shipped(file) else None
    if taken:
        message = f"{file.name} is also in {taken}; one name has one recipe"
        yield Finding(*_TAKEN, Severity.ERROR, message, place, "rename the file, or its folder")


def _shipped(file: RecipeText) -> bool:
    recipe, _, variant = file.name.partition("#")
    return (catalog.variant(recipe, variant) if variant else catalog.recipe(recipe)) is not None


def _alone(library: Library) -> Iterator[Finding]:
    """Refuse a variant whose recipe does not exist."""
    for name, found in library.variants.items():
        recipe = name.partition("#")[0]
        if library.recipe(recipe) is None:
            message = f"{name} is a variant of {recipe}, which does not exist"
            hint = "add the recipe as a file beside the folder, or move the variant to the folder of its recipe"
            yield Finding(*_NO_RECIPE, Severity.ERROR, message, found.document.at_key(()), hint)
