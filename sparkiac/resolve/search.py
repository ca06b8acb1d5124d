"""Search the catalog's recipes and variants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sparkiac import catalog
from sparkiac.catalog.library import SHIPPED, Library
from sparkiac.memory import sharing
from sparkiac.memory.sharing import Room
from sparkiac.memory.values import GIB, Term, Unknown
from sparkiac.resolve import catalogued
from sparkiac.resolve.catalogued import Catalogued


class RecipeQuery(NamedTuple):
    """Search criteria; None matches everything. Texts match as substrings, ignoring case."""

    model: str | None = None
    """Part of name, model handle or title."""
    words: tuple[str, ...] = ()
    """Parts of name, model handle, title or a use case; an entry matches if it has all of them."""
    use_cases: tuple[str, ...] = ()
    """Use cases; an entry matches if it has all of them."""
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


def search(
    query: RecipeQuery, beside: tuple[str, ...] = (), *, library: Library = SHIPPED, memory_bytes: int | None = None
) -> tuple[SearchResult, ...]:
    """Return all usable entries that match, except those that do not fit in the memory that other servers leave.

    `memory_bytes` is the memory of the machine, if it is not that of the platform.
    """
    chosen = [found for found in catalogued.everything(library) if found.usable and matches(found, query)]
    if not beside:
        return _grouped((found, None) for found in chosen)
    others = [load(catalogued.named(name, library)) for name in beside]
    size = memory_bytes or total_bytes()
    rooms = ((found, sharing.on_one_machine([*others, load(found)], total_bytes=size)) for found in chosen)
    return _grouped((found, room) for found, room in rooms if room.fits is not False and found.nodes == 1)


def matches(found: Catalogued, query: RecipeQuery) -> bool:
    """Return whether an entry matches. An unknown value does not match."""
    values, quantization = found.values, found.facts.quantization
    size = found.facts.weights_bytes
    named = (found.name, found.entry.title, values.get("model", ""))
    return (
        (query.model is None or any(_has(text, query.model) for text in named))
        and all(any(_has(text, word) for text in (*named, *found.use_cases)) for word in query.words)
        and set(query.use_cases) <= set(found.use_cases)
        and (query.max_weights_gib is None or (size is not None and size <= query.max_weights_gib * GIB))
        and query.nodes in {None, found.nodes}
        and (query.quantization is None or _has(quantization.format if quantization else "", query.quantization))
        and query.engine in {None, found.recipe.engine}
        and (query.image is None or _has(values.get("image", ""), query.image))
    )


def load(found: Catalogued) -> Term:
    """Return the memory that the weights of an entry need on one host."""
    if "model" not in found.values:
        return Term(found.name, Unknown(("model",)), "serves any model")
    drafter = found.values.get("speculative", {}).get("model") is not None
    return sharing.weights(found.name, found.facts, drafter=drafter, nodes=found.nodes)


def total_bytes() -> int:
    """Return the memory of the platform."""
    known = catalog.platform(catalog.DEFAULT_PLATFORM)
    size_gib = known.valid.memory_gib if known else None
    assert size_gib is not None, "the platform is shipped, with its memory"  # noqa: S101
    return int(size_gib * GIB)


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
            same = room is None or (hit.room is not None and room.weights[-1][1:] == hit.room.weights[-1][1:])
            if same:
                yield index
