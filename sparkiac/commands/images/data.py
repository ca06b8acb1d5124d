"""Images of the catalog as plain data, for `--format json`, tables and docs/catalog.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sparkiac import catalog
from sparkiac.commands.recipes import data as of_recipes
from sparkiac.model.images import ImageFamily
from sparkiac.resolve import catalogued
from sparkiac.source import Source


def names() -> tuple[str, ...]:
    """Return all names of images: families, repositories and references with a tag."""
    return tuple(dict.fromkeys(word for family in families() for word in _words(family)))


def families() -> list[dict[str, Any]]:
    """Return all families, sorted by name."""
    return [_family(found) for found in catalog.image_families()]


def named(name: str) -> dict[str, Any]:
    """Return an image family by one of its `names`; with only one tag if the name has a tag."""
    family = next(family for family in families() if name in _words(family))
    chosen = [tag for tag in family["tags"] if tag["reference"] == name]
    tags = chosen or family["tags"]
    references = {tag["reference"] for tag in tags} or {family["repository"]}
    return family | {
        "tags": tags,
        "build": of_recipes.build(family["repository"]),
        "recipes": list(_recipes(references)),
        "drafters": list(_drafters(references)),
    }


def _words(family: dict[str, Any]) -> Iterator[str]:
    yield family["name"]
    if family["repository"]:
        yield family["repository"]
    yield from (tag["reference"] for tag in family["tags"])


def _family(found: Source[ImageFamily]) -> dict[str, Any]:
    family = found.value
    assert family is not None, "an entry is valid"  # noqa: S101
    data: dict[str, Any] = family.model_dump(mode="json", exclude={"tags"})
    data["name"] = found.document.name.rpartition("/")[2].removesuffix(".yaml")
    data["tags"] = [
        {"tag": tag, "reference": f"{family.repository}:{tag}", **known.model_dump(mode="json")}
        for tag, known in family.tags.items()
    ]
    return data


def _recipes(references: set[str]) -> Iterator[str]:
    """Return the entries that run one of these images; a reference without a tag has the tag `latest`."""
    for found in catalogued.everything():
        image = found.values.get("image", "")
        if {image, f"{image}:latest"} & references:
            yield found.name if found.usable else f"{found.name} ({found.status})"


def _drafters(references: set[str]) -> Iterator[str]:
    for pair in catalog.drafters():
        if pair.image in references:
            yield f"{pair.drafter or pair.method} for {pair.target}"
