"""Images as tables: versions, recipes and limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sparkiac.commands.recipes.page import built
from sparkiac.formats.terminal import NARROW, bullets, grid, heading, stacked, value

Data = dict[str, Any]
Parts = Iterator[RenderableType]

_HEAD: Final = ("tag", "vLLM", "CUDA", "driver", "to know")
_STYLES: Final = {
    "vllm-serve": "starts `vllm serve`",
    "pass-through": "runs the given command",
    "environment": "makes its command from variables",
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


def listed(families: Iterable[Data], *, width: int) -> Parts:
    """Return families with their tags; the columns of all tables are aligned with the one head."""
    families = list(families)
    rows = {family["name"]: [_cells(tag) for tag in family["tags"]] for family in families}
    every = [_HEAD, *(row for each in rows.values() for row in each)]
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    narrow = width < NARROW
    if not narrow:
        yield _table([_HEAD], widths, style="bold")
    for family in families:
        named = family["repository"] not in {None, family["name"]}
        yield Text.assemble("\n", (family["name"], "bold"), f"  {family['repository'] if named else family['title']}")
        yield grid([(Text(f"{_kind(family)}; {_STYLES[family['style']]}", style="dim"),)])
        if family["tags"]:
            yield grid(map(_line, rows[family["name"]])) if narrow else _table(rows[family["name"]], widths)
        if family["incomplete"]:
            yield grid([(family["incomplete"],)])


def _line(cells: tuple[str, ...]) -> tuple[RenderableType]:
    tag, *figures, known = cells
    parts = [f"{label} {figure}" for label, figure in zip(_HEAD[1:], figures, strict=False) if figure != "?"]
    return (stacked(tag, ", ".join(parts), known),)


def _table(rows: Iterable[tuple[str, ...]], widths: list[int], style: str = "") -> Padding:
    made = Table.grid(padding=(0, 2, 0, 0))
    for width in widths[:-1]:
        made.add_column(min_width=width, no_wrap=True)
    made.add_column(overflow="fold")
    for row in rows:
        made.add_row(*map(Text, row), style=style)
    return Padding(made, (0, 0, 0, 2))


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


def page(family: Data) -> Parts:
    """Return the page of a family, or of one tag of it."""
    yield Text(family["name"], style="bold")
    yield Text(f"{family['title']}\n")
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
    yield from _versions("Other tags, by how they begin", family["series"])
    yield from _versions("Tags of a commit, by its first digits", family["commits"])
    yield from built(family["build"])
    yield from _list("Notes", family["notes"])
    yield from _list("Recipes that run it", family["recipes"])
    yield from _list("Drafters that require it", family["drafters"])
    yield from _list("Sources", family["sources"])


def _tag(tag: Data) -> Parts:
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


def _versions(title: str, versions: Data) -> Parts:
    if versions:
        yield heading(title)
        yield grid((start, f"vLLM {each['vllm']} ({'; '.join(each['sources'])})") for start, each in versions.items())


def _list(title: str, texts: list[str]) -> Parts:
    if texts:
        yield heading(title)
        yield bullets(texts)
