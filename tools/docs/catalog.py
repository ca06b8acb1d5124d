"""Writes docs/catalog.md: the whole catalog, with the source of each figure. Run it after a change of the catalog."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkiac import catalog, engines
from sparkiac.plan.numbers import brief_image
from sparkiac.resolve import catalogued
from sparkiac.words import entries as of_recipes
from sparkiac.words import images as of_images
from sparkiac.words.recipes import unknown, weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Data = dict[str, Any]

ENGINES = (*engines.names(), "ollama")
PAGE = Path(__file__).parents[2] / "docs/catalog.md"
HEAD = """\
# Catalog

Written by `python tools/docs/catalog.py` from `sparkiac/catalog`; change it there. `sparkiac recipes show NAME`
prints an entry with its command, `sparkiac recipes search` finds one. Figures are those of the sources, on their
machines ([sources.md](sources.md) says which documents these are); none was measured by sparkiac. "Loaded" is what
the weights take in memory, "on disk" what is downloaded.
"""


def text() -> str:
    """Return the page."""
    entries = [of_recipes.entry(found) for found in catalogued.everything()]
    usable = [each for each in entries if each["status"] == "recipe"]
    aside = [each for each in entries if each["status"] != "recipe"]
    fragments = [of_recipes.fragment(name) for name in catalog.fragment_names()]
    families = of_images.families()
    parts = (
        [HEAD, counted(usable, aside, fragments, families)],
        [
            "## Which engine\n",
            *table(("engine", "suits", "a source prints its command for this hardware"), map(engine, ENGINES)),
        ],
        ["## By use case\n", *table(("good for", "recipes"), by_use(usable))],
        [
            "## Recipes\n",
            *table(("recipe", "engine, image", "weights", "nodes", "format", "sources"), map(recipe, bases(usable))),
        ],
        ["## Variants\n", *table(("variant", "what it is", "sources"), map(variant, variants(usable)))],
        ["## Measured by the sources\n", *table(("entry", "what", "figure", "source"), measured(entries))],
        ["## Fragments\n", *table(("fragment", "engine", "what it does", "sources"), map(fragment, fragments))],
        ["## Images\n", *table(("image", "vLLM", "CUDA", "driver", "to know", "sources"), images(families))],
        ["## Drafters\n", *table(("target", "method", "drafter", "tokens", "image", "source"), drafters())],
        [
            "## Only mentioned, superseded or retired\n",
            *table(("entry", "state", "why", "instead", "sources"), map(reason, aside)),
        ],
        [
            "## Symptoms\n\nWhat `sparkiac diagnose` finds in logs; `sparkiac rules explain CODE` explains each one.\n",
            *table(("symptom", "severity", "line, or found by", "change of the inventory"), symptoms()),
        ],
        ["## Differences from all sources\n", *table(("what", "why"), standing())],
        ["## Not verified, whatever the recipe\n", *(f"- {each}" for each in catalog.standing().not_verified)],
    )
    return "\n".join("\n".join(part) + "\n" for part in parts)


def engine(name: str) -> tuple[str, ...]:
    """Return the row of an engine."""
    found = engines.named(name)
    return f"{found.title}, `{name}`", found.suits, "yes" if found.tested else "no"


def counted(usable: list[Data], aside: list[Data], fragments: list[Data], families: list[Data]) -> str:
    """Return the sentence that counts the entries of each kind."""
    states = {state: sum(each["status"] == state for each in aside) for state in ("mention", "superseded", "retired")}
    counts = {
        "recipes that can be deployed": len(bases(usable)),
        "variants of them": len(variants(usable)),
        "entries that their sources only mention": states["mention"],
        "superseded": states["superseded"],
        "retired": states["retired"],
        "fragments": len(fragments),
        "families of images": len(families),
        "known tags of images": sum(len(family["tags"]) for family in families),
        "pairs of target and drafter": len(catalog.drafters()),
        "symptoms": len(catalog.symptoms()),
    }
    return "\n".join(f"- {number} {what}" for what, number in counts.items())


def symptoms() -> Iterator[tuple[str, ...]]:
    """Write each symptom."""
    for each in catalog.symptoms():
        how = "line" if each.pattern else ", ".join(each.found_by)
        yield f"{each.code}<br>{plain_text(each.title)}", each.severity, how, "yes" if each.change else ""


def bases(entries: Iterable[Data]) -> list[Data]:
    """Return the entries that are recipes."""
    return [each for each in entries if each["kind"] == "recipe"]


def variants(entries: Iterable[Data]) -> list[Data]:
    """Return the entries that are variants."""
    return [each for each in entries if each["kind"] == "variant"]


def by_use(entries: list[Data]) -> Iterator[tuple[str, ...]]:
    """Return use cases with their recipes, and with the variants whose recipe does not list the use case."""
    uses = {each["name"]: each["use_cases"] for each in entries}
    for use in of_recipes.USE_CASES:
        fit = [name for name in uses if use in uses[name]]
        names = [name for name in fit if "#" not in name or name.partition("#")[0] not in fit]
        if names:
            yield use, ", ".join(map(code, names))


def recipe(each: Data) -> tuple[str, ...]:
    """Write a recipe."""
    image = f", {code(brief_image(each['image']))}" if each["image"] else ""
    name = f"{code(each['name'])}<br>{plain_text(each['title'])}"
    return name, f"{each['engine']}{image}", weights(each), str(each["nodes"]), form(each), sources(each)


def form(each: Data) -> str:
    """Write the format of the weights."""
    return plain_text(each["quantization"] or unknown(each))


def variant(each: Data) -> tuple[str, ...]:
    """Write a variant."""
    return code(each["name"]), plain_text(each["title"]), sources(each)


def measured(entries: Iterable[Data]) -> Iterator[tuple[str, ...]]:
    """Write each figure with its entry."""
    for each in entries:
        for figure in each["measured"]:
            if figure["of"] == each["kind"]:
                yield code(each["name"]), *map(plain_text, (figure["what"], figure["value"], figure["source"]))


def fragment(each: Data) -> tuple[str, ...]:
    """Write a fragment."""
    state = "" if each["status"] == "recipe" else f" ({each['status']}: {each['why']})"
    return code(each["name"]), each["engine"] or "any", plain_text(each["title"] + state), sources(each)


def images(families: Iterable[Data]) -> Iterator[tuple[str, ...]]:
    """Write each tag, and families without tags as they are."""
    for family in families:
        for tag in family["tags"]:
            release = tag["vllm"] or (f"{tag['vllm_at_least']} or newer" if tag["vllm_at_least"] else "")
            driver = f"{tag['min_driver']} or newer" if tag["min_driver"] else ""
            yield (
                code(tag["reference"]),
                release,
                tag["cuda"] or "",
                driver,
                plain_text(known(tag)),
                "; ".join(tag["sources"]),
            )
        for start, each in family["series"].items():
            yield code(f"{family['repository']}:{start}…"), each["vllm"], "", "", "", "; ".join(each["sources"])
        for start, each in family["commits"].items():
            yield code(f"{family['repository']}:nightly-{start}…"), each["vllm"], "", "", "", "; ".join(each["sources"])
        if not family["tags"]:
            name = code(family["repository"]) if family["repository"] else plain_text(family["title"])
            yield name, "", "", "", plain_text(family["incomplete"] or ""), plain_text("; ".join(family["sources"]))


def known(tag: Data) -> str:
    """Return what a user must know about a tag."""
    words = [f"failed on {platform}: {why}" for platform, why in sorted(tag["failed_on"].items())]
    words += ["moving tag"] if tag["moving"] else []
    words += [f"lacks {', '.join(tag['lacks'])}"] if tag["lacks"] else []
    return "; ".join(words)


def drafters() -> Iterator[tuple[str, ...]]:
    """Write the pairs of target and drafter."""
    for pair in catalog.drafters():
        drafter = code(pair.drafter) if pair.drafter else "built in" if pair.built_in else "none named"
        tokens = str(pair.num_speculative_tokens or "")
        yield (
            code(pair.target),
            pair.method,
            drafter,
            tokens,
            code(pair.image) if pair.image else "",
            plain_text(pair.source),
        )


def reason(each: Data) -> tuple[str, ...]:
    """Write why an entry is set aside."""
    instead = code(each["instead"]) if each["instead"] else ""
    return code(each["name"]), each["status"], plain_text(each["why"] or ""), instead, sources(each)


def standing() -> Iterator[tuple[str, ...]]:
    """Write the corrections that apply to every recipe."""
    for each in catalog.standing().corrections:
        yield plain_text(each.what), plain_text(each.why)


def sources(each: Data) -> str:
    """Write the sources that an entry itself names."""
    return plain_text("; ".join(source["text"] for source in each["sources"] if source["of"] == each["kind"]))


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Write a table."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def code(text: str) -> str:
    """Write a name."""
    return f"`{text}`"


def plain_text(text: str) -> str:
    """Escape characters that have a meaning in Markdown."""
    return "".join(f"\\{sign}" if sign in "|<>*_`[]~\\" else sign for sign in text)


if __name__ == "__main__":
    PAGE.write_text(text())
