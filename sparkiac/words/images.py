"""Images of the catalog: lists, pages and plain data, also for docs/catalog.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sparkiac import catalog
from sparkiac.model.images import ImageFamily
from sparkiac.resolve import catalogued
from sparkiac.source import Source
from sparkiac.words import entries
from sparkiac.words.page import (
    NARROW,
    Blocks,
    Data,
    Grid,
    Row,
    bullets,
    grid,
    heading,
    line,
    section,
    stacked,
    styled,
    value,
)
from sparkiac.words.recipe_page import built

_HEAD: Final = ("tag", "vLLM", "CUDA", "driver", "to know")
_STYLES: Final = {
    "vllm-serve": "starts `vllm serve`",
    "pass-through": "runs the given command",
    "environment": "builds its command from variables",
    "unknown": "entrypoint unknown",
}
_OF_TAG: Final = (
    ("vllm", "vLLM"),
    ("vllm_at_least", "vLLM, or newer"),
    ("cuda", "CUDA"),
    ("torch", "PyTorch"),
    ("transformers", "Transformers, or newer"),
    ("min_driver", "driver, or newer"),
    ("forward_compat", "or, by forward compatibility"),
)


def names() -> tuple[str, ...]:
    """Return all names of images: families, repositories and references with a tag."""
    return tuple(dict.fromkeys(word for family in families() for word in _words(family)))


def families() -> list[Data]:
    """Return all families, sorted by name."""
    return [_family(found) for found in catalog.image_families()]


def named(name: str) -> Data:
    """Return an image family by one of its `names`; with only one tag if the name has a tag."""
    family = next(family for family in families() if name in _words(family))
    chosen = [tag for tag in family["tags"] if tag["reference"] == name]
    tags = chosen or family["tags"]
    references = {tag["reference"] for tag in tags} or {family["repository"]}
    return family | {
        "tags": tags,
        "build": entries.build(family["repository"]),
        "recipes": list(_recipes(references)),
        "drafters": list(_drafters(references)),
    }


def _words(family: Data) -> Iterator[str]:
    yield family["name"]
    if family["repository"]:
        yield family["repository"]
    yield from (tag["reference"] for tag in family["tags"])


def _family(found: Source[ImageFamily]) -> Data:
    family = found.value
    assert family is not None, "an entry is valid"  # noqa: S101
    data: Data = family.model_dump(mode="json", exclude={"tags"})
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


def listed(families: Iterable[Data], width: int) -> Blocks:
    """Return families with their tags; the columns of all tables are aligned with the one head."""
    families = list(families)
    rows = {family["name"]: tuple(map(_cells, family["tags"])) for family in families}
    every = [_HEAD, *(row for each in rows.values() for row in each)]
    widths = tuple(max(map(len, column)) for column in zip(*every, strict=True))[:-1]
    if width >= NARROW:
        yield Grid((_HEAD,), widths, style="bold")
    for family in families:
        named = family["repository"] not in {None, family["name"]}
        yield line("\n", (family["name"], "bold"), f"  {family['repository'] if named else family['title']}")
        yield grid([(styled(f"{_kind(family)}; {_STYLES[family['style']]}", "dim"),)])
        if tags := rows[family["name"]]:
            yield Grid(tags, widths) if width >= NARROW else grid(map(_line, tags))
        if family["incomplete"]:
            yield grid([(family["incomplete"],)])


def _line(cells: tuple[str, ...]) -> Row:
    tag, *figures, known = cells
    parts = [f"{label} {figure}" for label, figure in zip(_HEAD[1:], figures, strict=False) if figure != "?"]
    return (stacked(tag, ", ".join(parts), known),)


def _kind(family: Data) -> str:
    words = {"registry": "image of a registry", "local-build": "built locally", "repository": "builds images"}
    return f"{words[family['kind']]}, {family['provenance']}"


def _cells(tag: Data) -> tuple[str, ...]:
    lacks = [f"lacks {', '.join(tag['lacks'])}"] if tag["lacks"] else []
    moving = ["moving tag"] if tag["moving"] else []
    failed = [f"failed on {platform}" for platform in sorted(tag["failed_on"])]
    return (
        tag["tag"],
        tag["vllm"] or (f">={tag['vllm_at_least']}" if tag["vllm_at_least"] else "?"),
        tag["cuda"] or "?",
        f">={tag['min_driver']}" if tag["min_driver"] else "?",
        "; ".join((*failed, *moving, *lacks)),
    )


def page(family: Data) -> Blocks:
    """Return the page of a family, or of one tag of it."""
    yield from (styled(family["name"], "bold"), f"{family['title']}\n")
    entrypoint = " ".join(family["entrypoint"]) if family["entrypoint"] is not None else None
    lines = (
        ("repository", family["repository"]),
        ("kind", _kind(family)),
        ("start", _STYLES[family["style"]]),
        ("entrypoint", "unknown; the lock records it" if entrypoint is None else entrypoint),
        ("home", family["home"]),
        ("incomplete", family["incomplete"]),
        ("dated tags", "builds of vLLM's main branch of that day" if family["dated"] else None),
    )
    yield grid((name, text) for name, text in lines if text)
    for tag in family["tags"]:
        yield from _tag(tag)
    yield from section("Other tags, by prefix", _versions(family["series"]))
    yield from section("Tags of commits, by their first digits", _versions(family["commits"]))
    yield from built(family["build"])
    yield from section("Notes", bullets(family["notes"]))
    yield from section("Recipes that run it", bullets(family["recipes"]))
    yield from section("Drafters that require it", bullets(family["drafters"]))
    yield from section("Sources", bullets(family["sources"]))


def _tag(tag: Data) -> Blocks:
    yield heading(f"Tag {tag['tag']}")
    rows = [(label, value(tag[key])) for key, label in _OF_TAG if tag[key]]
    rows += [("lacks", ", ".join(tag["lacks"]))] if tag["lacks"] else []
    rows += [("moving", "the tag moves to newer builds; the lock pins one")] if tag["moving"] else []
    rows += [(f"failed on {platform}", why) for platform, why in sorted(tag["failed_on"].items())]
    if rows:
        yield grid(rows)
    if tag["notes"]:
        yield bullets(tag["notes"])
    if tag["sources"]:
        yield grid([("from", "; ".join(tag["sources"]))])


def _versions(found: Data) -> Grid:
    return grid((start, f"vLLM {each['vllm']} ({'; '.join(each['sources'])})") for start, each in found.items())
