"""Values taken out of a YAML text: whole lines, or a stretch of one line between brackets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sparkiac.fix.nodes import Refused, find, line_end, line_start

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sparkiac.fix.nodes import Node
    from sparkiac.report import Path

_DASH: Final = re.compile(r" *- +")
_NOTHING_MORE: Final = re.compile(r"[ \t]*(#[^\n]*)?\r?\n?")
_COMMA_AND_NOTHING_MORE: Final = re.compile(rf"(?:[ \t]*,)?{_NOTHING_MORE.pattern}")
_COMMENT_LINE: Final = re.compile(r"^[ \t]*#", re.MULTILINE)


def cut(text: str, root: Node, paths: Iterable[Path]) -> str:
    """Take the values at these paths out. A list or mapping that is left empty goes with its key."""
    gone = _with_emptied(root, set(paths))
    spans: list[tuple[int, int]] = []
    for parent in {path[:-1] for path in gone}:
        node = find(root, parent)
        assert node is not None, "what is removed was found"  # noqa: S101
        flags = [(child, (*parent, part) in gone) for part, child in node.children.items()]
        spans += _between_brackets(text, flags) if node.style else _blocks(text, node.kind, flags)
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text


def _with_emptied(root: Node, gone: set[Path]) -> set[Path]:
    """Put the path of a collection in the place of those of all that it holds."""
    for path in sorted(gone, key=len, reverse=True):
        parent = path[:-1]
        node = find(root, parent)
        if not path or node is None or find(root, path) is None:
            message = "nothing of the file would be left" if not path else "what it removes is not there any more"
            raise Refused(message)
        children = {(*parent, part) for part in node.children}
        if children <= gone:
            return _with_emptied(root, (gone - children) | {parent})
    return gone


def _blocks(text: str, kind: str, flags: Iterable[tuple[Node, bool]]) -> Iterator[tuple[int, int]]:
    """Give the lines of each value that goes."""
    for child, goes in flags:
        if not goes:
            continue
        start = line_start(text, child.first)
        lead = text[start : child.first]
        alone = _DASH.fullmatch(lead) if kind == "sequence" else not lead.strip(" ")
        end = line_end(text, child.last)
        if not alone or not _NOTHING_MORE.fullmatch(text, child.last, end):
            message = "what it removes shares its line with what stays"
            raise Refused(message)
        yield _without_comments(text, start, end)


def _between_brackets(text: str, flags: Sequence[tuple[Node, bool]]) -> Iterator[tuple[int, int]]:
    """Give the stretch of each run of neighbours that go, with one comma."""
    children = [child for child, _ in flags]
    index = 0
    while index < len(flags):
        first = index
        while index < len(flags) and flags[index][1]:
            index += 1
        if index > first:
            yield _run(text, children, first, index)
        index += 1


def _run(text: str, children: Sequence[Node], first: int, after: int) -> tuple[int, int]:
    start, last = line_start(text, children[first].first), children[after - 1].last
    end = line_end(text, last)
    if not text[start : children[first].first].strip(" ") and _COMMA_AND_NOTHING_MORE.fullmatch(text, last, end):
        return _without_comments(text, start, end)
    if after < len(children):
        start, end = children[first].first, children[after].first
    else:
        start, end = children[first - 1].last, last
    if "\n" in text[start:end]:
        message = "what it removes shares its lines with what stays"
        raise Refused(message)
    return start, end


def _without_comments(text: str, start: int, end: int) -> tuple[int, int]:
    """Give the lines back; refuse those with a comment between them, which may be about more than them."""
    if _COMMENT_LINE.search(text, start, end):
        message = "a comment stands among the lines that it removes"
        raise Refused(message)
    return start, end
