"""What is known about machines, images and models: package data, one file per entry.

Reading an entry gives a Source, so that a resolved value can name the file and line it came from.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import BaseModel

from sparkiac.model.catalog import ImageFamily, Recipe
from sparkiac.model.platform import Platform
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
def platform(name: str) -> Source[Platform] | None:
    """Give the hardware profile `name`, or None if there is none."""
    return _entry(f"platforms/{name}.yaml", Platform)


def recipe_names() -> tuple[str, ...]:
    """Give the names of all recipes, sorted."""
    return tuple(sorted(f"{path.parent.name}/{path.stem}" for path in (_ROOT / "recipes").glob("*/*.yaml")))


def platform_names() -> tuple[str, ...]:
    """Give the names of all hardware profiles, sorted."""
    return tuple(sorted(path.stem for path in (_ROOT / "platforms").glob("*.yaml")))


@cache
def image_families() -> tuple[Source[ImageFamily], ...]:
    """Give all image families, in the order of their file names."""
    return tuple(_families())


def image_family(repository: str) -> Source[ImageFamily] | None:
    """Give the family of images with this repository, or None if it is not known."""
    return next((found for found in image_families() if found.document.data["repository"] == repository), None)  # type: ignore[index]


def _families() -> Iterator[Source[ImageFamily]]:
    for path in sorted((_ROOT / "images").glob("*.yaml")):
        found = _entry(f"images/{path.name}", ImageFamily)
        if found is not None:
            yield found


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
