"""Catalog entries by the names that people write: `vendor/name`, `vendor/name#variant`, `fragment name`."""

from __future__ import annotations

from typing import Any, Final

from sparkiac import catalog
from sparkiac.resolve import catalogued


def found(name: str) -> Any | None:  # noqa: ANN401  a recipe, a variant or a fragment: they have Entry's fields alike
    """Return an entry, or None if the catalog has none of this name."""
    recipe, _, variant = name.partition("#")
    if name.startswith("fragment "):
        source: Any = catalog.fragment(name.removeprefix("fragment "))
    elif variant:
        source = catalog.variant(recipe, variant)
    else:
        source = catalog.recipe(recipe)
    return source.value if source else None


def entry(name: str) -> Any:  # noqa: ANN401  as above
    """Return an entry that must be there."""
    value = found(name)
    assert value is not None, f"the catalog has no {name}"
    return value


def usable(name: str) -> bool:
    """Whether an entry can be deployed, and what it is a variant of as well."""
    return all(entry(part).status == "recipe" for part in {name, name.partition("#")[0]})


FILES: Final = (*catalogued.names(), *(f"fragment {name}" for name in catalog.fragment_names()))
"""Every recipe, variant and fragment that has a file."""
USABLE: Final = tuple(name for name in catalogued.names() if usable(name))
"""Every recipe and variant that can be deployed."""
