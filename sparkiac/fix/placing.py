"""Values put into a YAML text: over the one that stands there, or as a line or a pair of their own."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from sparkiac.fix.nodes import Refused, line_end, line_start
from sparkiac.source.scalars import NULL, Ambiguous, resolve

if TYPE_CHECKING:
    from sparkiac.fix.nodes import Node
    from sparkiac.report import Path, Scalar

_PLAIN: Final = re.compile(r"[A-Za-z0-9/_.]([A-Za-z0-9/_.:@+-]*[A-Za-z0-9/_.@+-])?")
_STEP: Final = 2


def put(text: str, root: Node, path: Path, value: Scalar) -> str:
    """Make the value at `path` another one; where there is none, add it with the mappings that it stands in."""
    node, depth = root, 0
    while depth < len(path) and path[depth] in node.children:
        node, depth = node.children[path[depth]], depth + 1
    keys = [part for part in path[depth:] if isinstance(part, str)]
    if len(keys) < len(path) - depth:
        message = "it would lengthen a list"
        raise Refused(message)
    if not keys:
        return _over(text, node, _written(value, node.style))
    if node.kind == "scalar" and not node.style and text[node.start : node.end] in NULL:
        return _over(text, node, f"{{{_pair(keys, value)}}}")
    if node.kind != "mapping":
        message = "no mapping stands where its key belongs"
        raise Refused(message)
    return _into_brackets(text, node, keys, value) if node.style else _below(text, node, keys, value, _step(text, root))


def _over(text: str, node: Node, written: str) -> str:
    """Write over a scalar that stands on one line."""
    if node.kind != "scalar" or "\n" in text[node.start : node.end]:
        message = "what it changes is no value on one line"
        raise Refused(message)
    if node.start < node.end:
        return text[: node.start] + written + text[node.end :]
    if not node.key or node.start == node.key[1]:
        message = "nothing stands where its value belongs"
        raise Refused(message)
    return f"{text[: node.start]} {written}{text[node.start :]}"


def _into_brackets(text: str, node: Node, keys: list[str], value: Scalar) -> str:
    pair = _pair(keys, value)
    if not node.children:
        return text[: node.start + 1] + pair + text[node.start + 1 :]
    last = [*node.children.values()][-1].last
    return f"{text[:last]}, {pair}{text[last:]}"


def _below(text: str, node: Node, keys: list[str], value: Scalar, step: int) -> str:
    """Add lines below the last one of a mapping, which may have a comment behind it."""
    column = _column(text, node)
    place = line_end(text, node.last)
    newline = "\r\n" if text[:place].endswith("\r\n") or ("\r\n" in text and place == len(text)) else "\n"
    lines = [f"{' ' * (column + step * depth)}{_key(key)}:" for depth, key in enumerate(keys)]
    lines[-1] += f" {_written(value, '')}"
    added = newline.join(lines)
    if not text[:place].endswith("\n"):
        return f"{text}{newline}{added}"
    return f"{text[:place]}{added}{newline}{text[place:]}"


def _step(text: str, root: Node) -> int:
    """Give how far the file indents: as the first mapping below the top does."""
    inner = (child for child in root.children.values() if child.kind == "mapping" and not child.style)
    return next((_column(text, child) for child in inner), _STEP)


def _column(text: str, node: Node) -> int:
    first = next(iter(node.children.values())).first
    return first - line_start(text, first)


def _pair(keys: list[str], value: Scalar) -> str:
    written = _written(value, "")
    for depth, key in enumerate(reversed(keys)):
        written = f"{_key(key)}: {{{written}}}" if depth else f"{_key(key)}: {written}"
    return written


def _key(key: str) -> str:
    return _written(key, "")


def _written(value: Scalar, style: str) -> str:
    """Write a value, a text with the quotes that stood there or with those that it needs."""
    if not isinstance(value, str):
        return json.dumps(value)
    if style == "'" and "\n" not in value:
        return "'{}'".format(value.replace("'", "''"))
    with suppress(Ambiguous):
        if style != '"' and _PLAIN.fullmatch(value) and resolve(value) == value:
            return value
    return json.dumps(value, ensure_ascii=False)
