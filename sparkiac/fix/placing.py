"""Writes values into a YAML text: over an existing value, or as a new line or pair."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any, Final

from sparkiac.fix.nodes import CannotEdit, YamlNode, column, line_end, newline, with_lines
from sparkiac.report import Path, Scalar
from sparkiac.source.scalars import NULL, Ambiguous, resolve

_PLAIN: Final = re.compile(r"[A-Za-z0-9/_.]([A-Za-z0-9/_.:@+-]*[A-Za-z0-9/_.@+-])?")
_STEP: Final = 2


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
