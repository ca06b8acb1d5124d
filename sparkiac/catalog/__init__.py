"""What is known about machines, images and models: package data, one file per entry.

Reading an entry gives a Source, so that a resolved value can name the file and line it came from.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import BaseModel

from sparkiac.model.build import CatalogBuild
from sparkiac.model.catalog import Fragment, GeneralNotes, Recipe, Variant
from sparkiac.model.drafters import DrafterPair, DrafterTable
from sparkiac.model.images import ImageFamily
from sparkiac.model.kinds import ServiceKind
from sparkiac.model.platform import Platform
from sparkiac.model.profiles import Profiles
from sparkiac.model.references import DOCKER_HUB, full
from sparkiac.model.symptoms import Symptom
from sparkiac.source import Source, load

if TYPE_CHECKING:
    from collections.abc import Iterator

M = TypeVar("M", bound=BaseModel)
_ROOT: Final = Path(__file__).parent


@cache
def recipe(name: str) -> Source[Recipe] | None:
    """Give the recipe `vendor/name`, or None if there is none."""
    return _entry(f"recipes/{name}.yaml", Recipe)


@cache
def variant(recipe: str, name: str) -> Source[Variant] | None:
    """Give the variant `name` of a recipe, or None if there is none."""
    return _entry(f"recipes/{recipe}/{name}.yaml", Variant)


@cache
def fragment(name: str) -> Source[Fragment] | None:
    """Give the fragment `name`, or None if there is none."""
    return _entry(f"fragments/{name}.yaml", Fragment)


@cache
def drafters() -> tuple[DrafterPair, ...]:
    """Give all pairs of target and drafter, in the order of the table."""
    found = _entry("drafters.yaml", DrafterTable)
    assert found is not None, "the table is shipped"  # noqa: S101
    assert found.value is not None, "an entry is valid"  # noqa: S101
    return found.value.pairs


def drafter(target: str | None, *, method: str) -> DrafterPair | None:
    """Give the pair for a target and a method, or None if no source names one."""
    return next((pair for pair in drafters() if pair.target == target and pair.method == method), None)


@cache
def standing() -> GeneralNotes:
    """Give what holds for every recipe."""
    found = _entry("standing.yaml", GeneralNotes)
    assert found is not None, "the file is shipped"  # noqa: S101
    assert found.value is not None, "an entry is valid"  # noqa: S101
    return found.value


@cache
def profiles() -> Profiles:
    """Give the profiles of checks."""
    found = _entry("profiles.yaml", Profiles)
    assert found is not None, "the file is shipped"  # noqa: S101
    assert found.value is not None, "an entry is valid"  # noqa: S101
    return found.value


@cache
def platform(name: str) -> Source[Platform] | None:
    """Give the hardware profile `name`, or None if there is none."""
    return _entry(f"platforms/{name}.yaml", Platform)


@cache
def build(name: str) -> Source[CatalogBuild] | None:
    """Give the build of the image `name`, or None if there is none."""
    return _entry(f"builds/{name}.yaml", CatalogBuild)


@cache
def service_kind(name: str) -> Source[ServiceKind] | None:
    """Give what is known of a kind of service, or None for a container of which nothing is."""
    return _entry(f"services/{name}.yaml", ServiceKind)


def recipe_names() -> tuple[str, ...]:
    """Give the names of all recipes, sorted."""
    return tuple(sorted(f"{path.parent.name}/{path.stem}" for path in (_ROOT / "recipes").glob("*/*.yaml")))


def variant_names(recipe: str) -> tuple[str, ...]:
    """Give the names of a recipe's variants, sorted."""
    return tuple(sorted(path.stem for path in (_ROOT / "recipes" / recipe).glob("*.yaml")))


def holding(text: str) -> Iterator[str]:
    """Name the recipes and variants whose files, or whose recipe's file, hold a text; none of them is parsed."""
    raw, files = text.encode(), _files()
    return (name for name in files if raw in files[name] or raw in files[name.partition("#")[0]])


def fragment_names() -> tuple[str, ...]:
    """Give the names of all fragments, sorted."""
    return tuple(sorted(path.stem for path in (_ROOT / "fragments").glob("*.yaml")))


def platform_names() -> tuple[str, ...]:
    """Give the names of all hardware profiles, sorted."""
    return tuple(sorted(path.stem for path in (_ROOT / "platforms").glob("*.yaml")))


def build_names() -> tuple[str, ...]:
    """Give the names of all builds, sorted."""
    return tuple(sorted(path.stem for path in (_ROOT / "builds").glob("*.yaml")))


def image_families() -> tuple[Source[ImageFamily], ...]:
    """Give all image families, in the order of their file names."""
    return tuple(_families(b""))


@cache
def symptoms() -> tuple[Symptom, ...]:
    """Give all known symptoms, sorted by code."""
    return tuple(_symptoms())


@cache
def image_family(repository: str) -> Source[ImageFamily] | None:
    """Give the family of images with this repository, or None if it is not known; docker.io may be named or not."""
    wanted = full(repository)
    short = wanted.removeprefix(f"{DOCKER_HUB}/").removeprefix("library/").encode()
    return next((each for each in _families(short) if each.value and full(each.value.repository or "") == wanted), None)


@cache
def _files() -> dict[str, bytes]:
    """Give the files of all recipes and variants, each recipe before its variants."""
    found = {}
    for recipe in recipe_names():
        found[recipe] = (_ROOT / "recipes" / f"{recipe}.yaml").read_bytes()
        for variant in variant_names(recipe):
            found[f"{recipe}#{variant}"] = (_ROOT / "recipes" / recipe / f"{variant}.yaml").read_bytes()
    return found


def _families(text: bytes) -> Iterator[Source[ImageFamily]]:
    """Give the families whose files hold a text; no other one is parsed."""
    for path in sorted((_ROOT / "images").glob("*.yaml")):
        found = _family(path.name) if text in path.read_bytes() else None
        if found is not None:
            yield found


@cache
def _family(name: str) -> Source[ImageFamily] | None:
    return _entry(f"images/{name}", ImageFamily)


def _symptoms() -> Iterator[Symptom]:
    for path in sorted((_ROOT / "symptoms").glob("*.yaml")):
        found = _entry(f"symptoms/{path.name}", Symptom)
        if found is not None and found.value is not None:
            yield found.value


def _entry(path: str, model: type[M]) -> Source[M] | None:
    try:
        raw = (_ROOT / path).read_bytes()
    except FileNotFoundError:
        return None
    source = load(raw, name=f"catalog/{path}", model=model)
    if source.value is None:
        message = f"catalog/{path} is not valid: {source.findings}"
        raise AssertionError(message)
    return source
