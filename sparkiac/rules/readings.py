"""What the rules about options share: how numbers and releases are read, and what a recipe itself says."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sparkiac.catalog.interfaces import release
from sparkiac.resolve import catalogued

if TYPE_CHECKING:
    from sparkiac.plan import Container

_COUNT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKmM]?)")
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
    """Give an option that counts something: vLLM also reads 64k as 64000 and 64K as 65536. None is not set."""
    found = _COUNT.fullmatch(str(container.options.get(option)))
    return int(float(found[1]) * _UNITS[found[2]]) if found else None


def tested(container: Container, option: str) -> Any:  # noqa: ANN401  plain YAML data
    """Give what the recipe itself sets an option to, or None."""
    return own(container).get("set", {}).get(option)


def own(container: Container) -> dict[str, Any]:
    """Give the values of the recipe, before the inventory says anything; none for a service."""
    return values_of(container.recipe) if container.recipe is not None else {}


@cache
def values_of(entry: str) -> dict[str, Any]:
    """Give the values of a recipe or variant as it would be deployed."""
    return catalogued.named(entry).values
