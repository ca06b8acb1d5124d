"""Removes values from a YAML text: whole lines, or part of a line between brackets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sparkiac.fix.nodes import CannotEdit, YamlNode, find, line_end, line_start
from sparkiac.report import Path

_DASH: Final = re.compile(r" *- +")
_NOTHING_MORE: Final = re.compile(r"[ \t]*(#[^\n]*)?\r?\n?")
_COMMA_AND_NOTHING_MORE: Final = re.compile(rf"(?:[ \t]*,)?{_NOTHING_MORE.pattern}")
_COMMENT_LINE: Final = re.compile(r"^[ \t]*#", re.MULTILINE)


def cut(text: str, root: YamlNode, paths: Iterable[Path], *, with_comments: bool = False) -> str:
    """Remove the values at these paths. A list or mapping that becomes empty is removed with its key.

    Lines of comments among the removed lines are removed `with_comments`; otherwise the cut is refused.
    """
    removed = _with_emptied(root, set(paths))
    spans: list[tuple[int, int]] = []
    for parent in {path[:-1] for path in removed}:
        node = find(root, parent)
        assert node is not None, "removed values exist"  # noqa: S101
        flags = [(child, (*parent, part) in removed) for part, child in node.children.items()]
        spans += _between_brackets(text, flags) if node.style else _blocks(text, node.kind, flags)
    # From the end, because a cut moves everything behind it.
    for start, end in sorted(spans, reverse=True):
        if not with_comments:
            _refuse_comments(text, start, end)
        text = text[:start] + text[end:]
    return text


def _with_emptied(root: YamlNode, removed: set[Path]) -> set[Path]:
    """Replace the paths of all children of a collection by the path of the collection."""
    # Deepest first: a collection can become empty only after those inside it.
    for path in sorted(removed, key=len, reverse=True):
        parent = path[:-1]
        node = find(root, parent)
        if not path or node is None or find(root, path) is None:
            raise CannotEdit("the file would be empty" if not path else "the value to remove no longer exists")
        children = {(*parent, part) for part in node.children}
        if children <= removed:
            return _with_emptied(root, (removed - children) | {parent})
    return removed


def _blocks(text: str, kind: str, flags: Iterable[tuple[YamlNode, bool]]) -> Iterator[tuple[int, int]]:
    for child, is_removed in flags:
        if not is_removed:
            continue
        start = line_start(text, child.first)
        lead = text[start : child.first]
        alone = _DASH.fullmatch(lead) if kind == "sequence" else not lead.strip(" ")
        end = line_end(text, child.last)
        if not alone or not _NOTHING_MORE.fullmatch(text, child.last, end):
            raise CannotEdit("the value to remove shares its line with other values")
        yield start, end


def _between_brackets(text: str, flags: Sequence[tuple[YamlNode, bool]]) -> Iterator[tuple[int, int]]:
    """Yield the span of each sequence of adjacent removed values, with one comma."""
    children = [child for child, _ in flags]
    index = 0
    while index < len(flags):
        first = index
        while index < len(flags) and flags[index][1]:
            index += 1
        if index > first:
            yield _run(text, children, first, index)
        index += 1


def _run(text: str, children: Sequence[YamlNode], first: int, after: int) -> tuple[int, int]:
    start, last = line_start(text, children[first].first), children[after - 1].last
    end = line_end(text, last)
    if not text[start : children[first].first].strip(" ") and _COMMA_AND_NOTHING_MORE.fullmatch(text, last, end):
        return start, end
    # One comma goes with the values: the one behind them, or the one in front of them if they are the last.
    if after < len(children):
        start, end = children[first].first, children[after].first
    else:
        start, end = children[first - 1].last, last
    if "\n" in text[start:end]:
        raise CannotEdit("the value to remove shares its lines with other values")
    return start, end


def _refuse_comments(text: str, start: int, end: int) -> None:
    """Refuse to remove lines with a comment among them, because it may be about other lines."""
    if _COMMENT_LINE.search(text, start, end):
        raise CannotEdit("a comment is among the lines to remove")
