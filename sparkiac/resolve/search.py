"""Search the catalog's recipes and variants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac import catalog
from sparkiac.catalog import fitting
from sparkiac.catalog.fitting import Load
from sparkiac.resolve import catalogued

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sparkiac.catalog.fitting import Room
    from sparkiac.resolve.catalogued import Catalogued

MACHINE: Final = "dgx-spark"
"""The platform that --fits-beside assumes."""


class SearchCriteria(NamedTuple):
    """Search criteria; None matches everything. Texts match as substrings, ignoring case."""

    model: str | None = None
    """Part of name, model handle or title."""
    use_cases: tuple[str, ...] = ()
    """An entry must have all of them."""
    max_weights_gib: float | None = None
    nodes: int | None = None
    quantization: str | None = None
    engine: str | None = None
    image: str | None = None


class SearchResult(NamedTuple):
    """An entry that matches."""

    found: Catalogued
    variants: tuple[Catalogued, ...]
    """Its variants that match too and need the same memory."""
    room: Room | None = None
    """Memory that it needs together with the recipes of --fits-beside."""


def search(wanted: SearchCriteria, beside: tuple[str, ...] = ()) -> tuple[SearchResult, ...]:
    """Return all usable entries that match, except those known not to fit beside the others."""
    chosen = [found for found in catalogued.everything() if found.usable and matches(found, wanted)]
    if not beside:
        return _grouped((found, None) for found in chosen)
    others = [load(catalogued.named(name)) for name in beside]
    rooms = ((found, fitting.together([*others, load(found)], memory_gib=memory_gib())) for found in chosen)
    return _grouped((found, room) for found, room in rooms if room.fits is not False and found.nodes == 1)


def matches(found: Catalogued, wanted: SearchCriteria) -> bool:
    """Return whether an entry matches. An unknown value does not match."""
    values, quantization = found.values, found.facts.quantization
    weights = fitting.weights_gib(found.facts.weights)
    named = (found.name, found.entry.title, values.get("model", ""))
    return (
        (wanted.model is None or any(_has(text, wanted.model) for text in named))
        and set(wanted.use_cases) <= set(found.use_cases)
        and (wanted.max_weights_gib is None or (weights is not None and weights[0] <= wanted.max_weights_gib))
        and wanted.nodes in {None, found.nodes}
        and (wanted.quantization is None or _has(quantization.format if quantization else "", wanted.quantization))
        and wanted.engine in {None, found.recipe.engine}
        and (wanted.image is None or _has(values.get("image", ""), wanted.image))
    )


def load(found: Catalogued) -> Load:
    """Return the weights and other memory that an entry needs on one host."""
    if "model" not in found.values:
        return Load(found.name, None, "serves any model")
    return fitting.load(found.name, found.facts, found.values.get("speculative"), nodes=found.nodes)


def memory_gib() -> float:
    """Return the memory of the platform in GiB."""
    known = catalog.platform(MACHINE)
    assert known is not None and known.value is not None, "it is shipped"  # noqa: S101, PT018
    assert known.value.memory_gib is not None, "it is known"  # noqa: S101
    return known.value.memory_gib


def _has(text: str, part: str) -> bool:
    return part.casefold() in text.casefold()


def _grouped(chosen: Iterable[tuple[Catalogued, Room | None]]) -> tuple[SearchResult, ...]:
    """Group variants under their recipe if it matches too; a variant with another memory need stays on its own."""
    hits: list[SearchResult] = []
    for found, room in chosen:
        base = next(_bases(hits, found, room), None)
        if base is None:
            hits.append(SearchResult(found, (), room))
        else:
            hits[base] = hits[base]._replace(variants=(*hits[base].variants, found))
    return tuple(hits)


def _bases(hits: list[SearchResult], found: Catalogued, room: Room | None) -> Iterator[int]:
    """Return the index of each match that is the recipe of this variant and needs the same memory."""
    for index, hit in enumerate(hits):
        if found.variant is not None and hit.found.variant is None and hit.found.recipe is found.recipe:
            same = room is None or (hit.room is not None and room.loads[-1][1:] == hit.room.loads[-1][1:])
            if same:
                yield index
