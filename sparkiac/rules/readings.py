"""What the rules about options share: how numbers and releases are read, and what a recipe itself says."""

from __future__ import annotations

import json
import re
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, Final

from sparkiac import catalog
from sparkiac.catalog.interfaces import release
from sparkiac.resolve import catalogued

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.plan import Container

_COUNT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKmM]?)")
_DIRECTORY: Final = "model_path"
_UNITS: Final = {"": 1, "k": 1000, "K": 1024, "m": 1000**2, "M": 1024**2}


def before(container: Container, version: str) -> bool:
    """Whether the image is known to hold an older vLLM."""
    found = container.image.vllm
    return found is not None and release(found) < release(version)


def since(container: Container, version: str) -> bool:
    """Whether the image is known to hold this vLLM, or a newer one."""
    found = container.image.vllm
    return found is not None and release(found) >= release(version)


def count(container: Container, option: str) -> int | None:
    """Give an option that counts something; None is not set."""
    found = quantity(container.server.options.get(option))
    return None if found is None else int(found)


def quantity(value: object) -> float | None:
    """Return the number that a value means: vLLM reads 64k as 64000 and 64K as 65536. None is no number."""
    found = _COUNT.fullmatch(str(value))
    return float(found[1]) * _UNITS[found[2]] if found else None


def yarns(container: Container) -> Iterator[Mapping[str, Any]]:
    """Give each YaRN among the overrides of the model's configuration."""
    value = container.server.options.get("hf_overrides")
    try:
        yield from _yarns(json.loads(value) if isinstance(value, str) else value)
    except ValueError:
        return


def reach(yarn: Mapping[str, Any]) -> int:
    """Give the tokens that a YaRN reaches; 0 if it does not say."""
    numbers = (yarn.get("factor"), yarn.get("original_max_position_embeddings"))
    return int(prod(number if isinstance(number, int | float) else 0 for number in numbers))


def _yarns(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict):
        if "yarn" in {value.get("rope_type"), value.get("type")}:
            yield value
        for inner in value.values():
            yield from _yarns(inner)


def tested(container: Container, option: str) -> Any:  # noqa: ANN401  plain YAML data
    """Give what the recipe itself sets an option to, or None."""
    return own(container).get("set", {}).get(option)


def own(container: Container) -> dict[str, Any]:
    """Give the values of the recipe, before the inventory says anything; none for a service."""
    return values_of(container.server.recipe) if container.server.recipe is not None else {}


@cache
def served_from_directory(model: str) -> str | None:
    """Give the first entry that serves a model, if all that do serve it from a directory.

    No entry is parsed where the text of none names both.
    """
    if set(catalog.holding(f"model: {model}")).isdisjoint(catalog.holding(f"{_DIRECTORY}:")):
        return None
    first = None
    for each in catalogued.serving(model):
        if _DIRECTORY not in each.values:
            return None
        first = first or each.name
    return first


@cache
def values_of(entry: str) -> dict[str, Any]:
    """Give the values of a recipe or variant as it would be deployed."""
    return catalogued.named(entry).values
