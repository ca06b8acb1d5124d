"""Writes `fabric.links` of a host into the text of an inventory: instead of the former ones, or below a new key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sparkiac.fix.nodes import (
    CannotEdit,
    YamlNode,
    column,
    find,
    line_end,
    line_start,
    mutable,
    read,
    require_data,
    with_lines,
)
from sparkiac.fix.placing import flow, into_brackets

Links = Sequence[Mapping[str, Any]]

_ITEM: Final = "- "


def with_links(text: str, host: str, links: Links, comments: Mapping[int, str]) -> str:
    """Return the text with these links of a host; `comments` are above the links with these indexes.

    Everything else stays as it is. Raises CannotEdit if that is impossible.
    """
    data, root = read(text)
    node, former = find(root, ("hosts", host)), find(root, ("hosts", host, "fabric", "links"))
    assert node is not None, "the inventory is valid"  # noqa: S101
    if former is None:
        new = _added(text, node, links, comments)
    elif former.style:
        new = text[: former.start] + flow(links) + text[former.end :]
    else:
        new = _replaced(text, former, links, comments)
    wanted = mutable(data)
    wanted["hosts"][host].setdefault("fabric", {})["links"] = mutable(links)
    return require_data(new, wanted)


def _added(text: str, host: YamlNode, links: Links, comments: Mapping[int, str]) -> str:
    """Add `fabric` after the last key of a host."""
    if host.style:
        return into_brackets(text, host, f"fabric: {{links: {flow(links)}}}")
    indent = " " * column(text, host)
    lines = [f"{indent}fabric:", f"{indent}  links:", *_block(links, comments, f"{indent}    ")]
    return with_lines(text, line_end(text, host.last), lines)


def _replaced(text: str, former: YamlNode, links: Links, comments: Mapping[int, str]) -> str:
    start = line_start(text, former.start)
    indent = text[start : former.start]
    if indent.strip(" "):
        message = "its links share a line with other values"
        raise CannotEdit(message)
    cut = text[:start] + text[line_end(text, former.last) :]
    return with_lines(cut, start, _block(links, comments, indent))


def _block(links: Links, comments: Mapping[int, str], indent: str) -> Iterator[str]:
    for index, link in enumerate(links):
        if index in comments:
            yield f"{indent}# {comments[index]}"
        for number, (key, value) in enumerate(link.items()):
            yield f"{indent}{' ' * len(_ITEM) if number else _ITEM}{key}: {flow(value)}"
