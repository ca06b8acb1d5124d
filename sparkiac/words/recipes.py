"""Recipes, variants and fragments as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from sparkiac import catalog
from sparkiac.memory import budget, overhead
from sparkiac.memory.values import GIB, least_bytes
from sparkiac.plan.numbers import brief_image
from sparkiac.resolve import search
from sparkiac.words.page import NARROW, Blocks, Data, Row, bullets, counted, grid, number, section, stacked, table

_WIDE: Final = 100
"""Minimum width for the column of use cases."""


_SHARES: Final = (
    "\nEach share is a range for gpu_memory_utilization: from weights and overhead alone to these and an even part of "
    "the rest. GiB is the size of weights and drafter."
)
_NO_PROOF: Final = (
    "\nThe KV cache for a context length is not included: `sparkiac plan` computes it. * size on disk; loaded weights "
    "can be larger (Spark guide L138, L345: 19 GB on disk, 21.94 GiB loaded)."
)


def weights(each: Data) -> str:
    """Return the size of the weights in the unit of the source; the loaded size is preferred."""
    figures = (("loaded_gib", "GiB loaded"), ("loaded_gb", "GB loaded"), ("disk_gb", "GB on disk"))
    known = [f"{number(each['weights'][key])} {unit}" for key, unit in figures if key in each["weights"]]
    return known[0] if known else unknown(each)


def unknown(each: Data) -> str:
    """Return the text for an entry without a model: templates serve any model, mentions have an unknown one."""
    return "any" if each["model"] is None and each["status"] == "recipe" else "unknown"


def all_entries(data: Mapping[str, Iterable[Data]], width: int) -> Blocks:
    """Return tables of recipes, fragments, entries that are set aside and refused files; empty ones are left out."""
    yield from listed(data.get("recipes", ()), width)
    yield from _fragments(data["fragments"])
    yield from _set_aside(data.get("set_aside", ()))
    refused = (f"{each['source']}: {each['why']}" for each in data.get("refused", ()))
    yield from section("Files of sources that are not used, with the reason", bullets(refused))


def found(hits: Iterable[Data], others: Sequence[Data], width: int) -> Blocks:
    """Return the entries found, with their memory if --fits-beside was given."""
    return _beside(hits, others, width) if others else listed(hits, width)


def listed(recipes: Iterable[Data], width: int) -> Blocks:
    """Return a table of entries, with two or three lines for each; nothing without an entry."""
    recipes = list(recipes)
    if recipes and width < NARROW:
        yield grid((stacked(each["name"], _details(each), *_below(each, width - 4)),) for each in recipes)
    elif recipes:
        heads = ("recipe", "weights", "nodes", "format", "good for")[: 5 if width >= _WIDE else 4]
        yield table(heads, (_row(each)[: len(heads)] for each in recipes), right=("nodes",), whole=("recipe",))


def _row(each: Data) -> Row:
    size = weights(each).replace(" ", "\n", 2).replace("\n", " ", 1)
    use_cases = ", ".join(each["use_cases"])
    return stacked(each["name"], *_below(each, 44)), size, str(each["nodes"]), _format(each), use_cases


def _details(each: Data) -> str:
    known = "any model" if weights(each) == "any" else f"{weights(each)}, {_format(each)}"
    return f"{known}, {counted(each['nodes'], 'node')}"


def _format(each: Data) -> str:
    """Return the part of the format before the first semicolon or bracket."""
    return str(each["quantization"] or unknown(each)).partition(";")[0].partition(" (")[0]


def _below(each: Data, width: int) -> Iterator[str]:
    """Return engine, image and variants in lines that fit into `width`.

    If `check` refuses the entry as it is, a line says what the inventory must add.
    """
    image = [f"{each['engine']} in", brief_image(each["image"])] if each["image"] else [each["engine"]]
    yield from _filled(image, width)
    if each["name"] in each["needs"]:
        yield from _filled(_needs(each["needs"][each["name"]]).split(), width)
    yield from _filled(_short(each), width)


def _filled(words: Iterable[str], width: int) -> Iterator[str]:
    line = ""
    for word in words:
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = ""
        line = f"{line} {word}".lstrip()
    yield line


def _set_aside(entries: Iterable[Data]) -> Blocks:
    """Return entries that are only mentioned, superseded or retired, with the reason and an alternative."""
    rows = []
    for each in entries:
        instead = f"instead: {each['instead']}" if each["instead"] else ""
        rows.append((stacked(f"{each['name']}  {each['status']}", each["why"] or "", instead),))
    return section("Set aside: only mentioned, superseded or retired", grid(rows))


def _fragments(entries: Iterable[Data]) -> Blocks:
    """Return a table of fragments."""
    rows = []
    for each in entries:
        state = "" if each["status"] == "recipe" else f"{each['status']}: {each['why']}"
        rows.append((each["name"], each["engine"] or "any", stacked(each["title"], state)))
    shown = table(("fragment", "engine", "what it does"), rows, whole=("fragment", "engine"))
    return section("Fragments: settings for any recipe of an engine, named under `fragments:`", shown)


def _beside(hits: Iterable[Data], others: Iterable[Data], width: int) -> Blocks:
    """Return the entries that fit together with others, and the share of the memory for each engine."""
    total = search.total_bytes()
    kept = least_bytes((budget.reserve(total),)) / GIB
    yield (
        f"On one {catalog.DEFAULT_PLATFORM}: {number(total / GIB)} GiB, less {number(round(kept, 1))} GiB for the "
        f"system and {number(overhead.RUNTIME_BYTES / GIB)} GiB for each engine, beside"
    )
    yield grid((each["name"], _load(each)) for each in others)
    hits = list(hits)
    if known := [each for each in hits if each["room"]["fits"]]:
        heads = ("recipe", "GiB", "left", "share", "beside")
        wide = table(heads, map(_wide, known), right=("GiB", "left"), whole=("recipe", "share", "beside"))
        yield from ("", wide if width >= NARROW else grid(map(_narrow, known)), _SHARES)
    unknown = (each for each in hits if not each["room"]["fits"])
    rows = ((stacked(each["name"], _reason(each["room"]), *_filled(_short(each), 50)),) for each in unknown)
    yield from section("Unknown whether it fits", grid(rows))
    yield _NO_PROOF


def _load(load: Data) -> str:
    return load["basis"] if load["gib"] is None else f"{load['gib']:.1f} GiB {load['basis']}"


def _reason(room: Data) -> str:
    """Return the unknown size, that of the entry itself first."""
    missing = [load for load in reversed(room["loads"]) if load["gib"] is None]
    own = missing[0]["name"] == room["loads"][-1]["name"]
    return str(missing[0]["basis"] if own else f"{missing[0]['basis']}: {missing[0]['name']}")


def _wide(each: Data) -> Row:
    return stacked(each["name"], *_filled(_short(each), 40)), *_figures(each["room"])


def _narrow(each: Data) -> Row:
    size, left, its, theirs = _figures(each["room"])
    beside = theirs.replace("\n", ", ")
    shares = f"share {its}, beside {beside}"
    return (stacked(each["name"], f"{size} GiB, {left} left", shares, *_filled(_short(each), 50)),)


def _figures(room: Data) -> tuple[str, str, str, str]:
    """Return the size of the entry, the free memory, its share, and the shares of the others."""
    own = room["loads"][-1]
    *theirs, its = (f"{share['least']:.2f}-{share['even']:.2f}" for share in room["shares"])
    mark = "*" if own["basis"] == "on disk" else ""
    return f"{own['gib']:.1f}{mark}", f"{room['spare_gib']:.1f}", its, "\n".join(theirs)


def _short(each: Data) -> list[str]:
    """Return the variants of an entry, without the entry's name, each with its own requirements as text."""
    needs = each.get("needs", {})
    own = {} if each["name"] in needs else needs
    return [word for name in each.get("variants", ()) for word in _variant(name, own.get(name)).split()]


def _variant(name: str, needs: Mapping[str, str] | None) -> str:
    return f"#{name.partition('#')[2]}" + (f" ({_needs(needs)})" if needs else "")


def _needs(needs: Mapping[str, str]) -> str:
    return f"needs: {'; '.join(needs.values())}"
