"""Writes values into a YAML text and removes them.

A value is written over an existing one, or as a new line or pair; it is removed as whole lines, or as part of a line
between brackets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from sparkiac.fix.nodes import CannotEdit, YamlNode, column, find, line_end, line_start, newline, with_lines
from sparkiac.report import Path, Scalar
from sparkiac.source.text import NULL, Ambiguous, resolve

_PLAIN: Final = re.compile(r"[A-Za-z0-9/_.]([A-Za-z0-9/_.:@+-]*[A-Za-z0-9/_.@+-])?")
_STEP: Final = 2
_DASH: Final = re.compile(r" *- +")
_NOTHING_MORE: Final = re.compile(r"[ \t]*(#[^\n]*)?\r?\n?")
_COMMA_AND_NOTHING_MORE: Final = re.compile(rf"(?:[ \t]*,)?{_NOTHING_MORE.pattern}")
_COMMENT_LINE: Final = re.compile(r"^[ \t]*#", re.MULTILINE)


def put(text: str, root: YamlNode, path: Path, value: Scalar) -> str:
    """Replace the value at `path`, or add it together with missing mappings."""
    node, depth = root, 0
    while depth < len(path) and path[depth] in node.children:
        node, depth = node.children[path[depth]], depth + 1
    keys = [part for part in path[depth:] if isinstance(part, str)]
    if len(keys) < len(path) - depth:
        raise CannotEdit("the edit would lengthen a list")
    if not keys:
        return _replace(text, node, scalar(value, node.style))
    if node.kind == "scalar" and not node.style and text[node.start : node.end] in NULL:
        return _replace(text, node, f"{{{_pair(keys, value)}}}")
    if node.kind != "mapping":
        raise CannotEdit("there is no mapping for its key")
    if node.style:
        return into_brackets(text, node, _pair(keys, value))
    added = with_lines(text, line_end(text, node.last), _lines(keys, value, column(text, node), step(text, root)))
    return added if text.endswith("\n") else added.removesuffix(newline(text))


def _replace(text: str, node: YamlNode, written: str) -> str:
    """Replace a scalar that is on one line."""
    if node.kind != "scalar" or "\n" in text[node.start : node.end]:
        raise CannotEdit("the value to change is not on one line")
    if node.start < node.end:
        return text[: node.start] + written + text[node.end :]
    if not node.key or node.start == node.key[1]:
        raise CannotEdit("there is no position for its value")
    return f"{text[: node.start]} {written}{text[node.start :]}"


def into_brackets(text: str, node: YamlNode, pair: str) -> str:
    """Add a pair to a mapping between brackets."""
    if not node.children:
        return text[: node.start + 1] + pair + text[node.start + 1 :]
    last = [*node.children.values()][-1].last
    return f"{text[:last]}, {pair}{text[last:]}"


def _lines(keys: list[str], value: Scalar, indent: int, width: int) -> list[str]:
    lines = [f"{' ' * (indent + width * depth)}{scalar(key, '')}:" for depth, key in enumerate(keys)]
    lines[-1] += f" {scalar(value, '')}"
    return lines


def step(text: str, root: YamlNode) -> int:
    """Return the file's indentation: that of the first mapping below the top level."""
    inner = (child for child in root.children.values() if child.kind == "mapping" and not child.style)
    return next((column(text, child) for child in inner), _STEP)


def _pair(keys: list[str], value: Scalar) -> str:
    written = scalar(value, "")
    for depth, key in enumerate(reversed(keys)):
        written = f"{scalar(key, '')}: {{{written}}}" if depth else f"{scalar(key, '')}: {written}"
    return written


def flow(value: Any) -> str:  # noqa: ANN401  plain data
    """Write a value in one line, lists and mappings in brackets."""
    if isinstance(value, dict):
        return "{{{}}}".format(", ".join(f"{key}: {flow(each)}" for key, each in value.items()))
    if isinstance(value, (list, tuple)):
        return "[{}]".format(", ".join(map(flow, value)))
    return scalar(value, "")


def scalar(value: Scalar, style: str) -> str:
    """Write a value; a text keeps its former quotes, or gets those that it needs."""
    if not isinstance(value, str):
        return json.dumps(value)
    if style == "'" and "\n" not in value:
        return "'{}'".format(value.replace("'", "''"))
    with suppress(Ambiguous):
        if style != '"' and _PLAIN.fullmatch(value) and resolve(value) == value:
            return value
    return json.dumps(value, ensure_ascii=False)


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
