"""Offsets of each value in the text of an inventory, from the positions that its reader recorded.

Only the text between offsets is cut or replaced: a YAML writer would change the layout of every line, and a comment
below a removed key belongs to the next key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any, Final, NamedTuple

from sparkiac.report import Mark, Path
from sparkiac.source import gate
from sparkiac.source.document import Document

_STYLES: Final = frozenset("\"'|>")
_BLOCK_STYLES: Final = ("|", ">")


class CannotEdit(Exception):  # noqa: N818  it is an answer, not a failure
    """The fix would change other lines; the message says why."""


class YamlNode(NamedTuple):
    """One value: its offsets in the text, its style and its children."""

    kind: str
    """`scalar`, `mapping` or `sequence`."""
    start: int
    end: int
    style: str
    """The quote or block indicator; `{` for a collection between brackets; otherwise empty."""
    key: tuple[int, int] | None
    """Offsets of the value's key, if it has one."""
    children: Mapping[str | int, YamlNode]

    @property
    def first(self) -> int:
        """Offset of the key, or of the value if it has none."""
        return self.key[0] if self.key else self.start

    @property
    def last(self) -> int:
        """Offset after the value, or after the key if no value follows."""
        return max(self.end, self.key[1] if self.key else 0)


def read(text: str) -> tuple[object, YamlNode]:
    """Return the data of an inventory and its root node. Raises CannotEdit for one that is not valid YAML."""
    document, faults = gate.read(text.encode(), name="")
    if faults:
        raise CannotEdit(faults[0].message)
    starts = (0, *accumulate(len(line) + 1 for line in text.split("\n")))
    return document.data, _node(_MarkedText(text, starts, document), (), document.data)


def find(root: YamlNode, path: Path) -> YamlNode | None:
    """Return the value at a path."""
    node: YamlNode | None = root
    for part in path:
        node = node.children.get(part) if node else None
    return node


def line_start(text: str, offset: int) -> int:
    """Return the offset of the first character of a line."""
    return text.rfind("\n", 0, offset) + 1


def line_end(text: str, offset: int) -> int:
    """Return the offset after the line's end; the last line may have no line break."""
    return text.find("\n", offset) + 1 or len(text)


def newline(text: str) -> str:
    """Return the line break of a text, which added lines get too."""
    return "\r\n" if "\r\n" in text else "\n"


def column(text: str, node: YamlNode) -> int:
    """Return the column, from 0, of the keys of a mapping in blocks."""
    first = next(iter(node.children.values())).first
    return first - line_start(text, first)


def with_lines(text: str, place: int, lines: Iterable[str]) -> str:
    """Add lines at the start or at the end of a line."""
    end = newline(text)
    before = text[:place] if text[:place].endswith("\n") else f"{text[:place]}{end}"
    return before + "".join(f"{line}{end}" for line in lines) + text[place:]


class _MarkedText(NamedTuple):
    """A text and the positions in it."""

    text: str
    starts: tuple[int, ...]
    """Offset of each line."""
    document: Document

    def span(self, mark: Mark) -> tuple[int, int]:
        """Return the offsets of a position."""
        return self.starts[mark.line - 1] + mark.column - 1, self.starts[mark.end_line - 1] + mark.end_column - 1


def _node(held: _MarkedText, path: Path, data: object) -> YamlNode:
    text, key = held.text, held.document.keys.get(path)
    introduced = held.span(key) if key is not None else None
    start, end = held.span(held.document.values[path])
    if not isinstance(data, dict | tuple):
        style = text[start] if start < end and text[start] in _STYLES else ""
        if style in _BLOCK_STYLES:
            end = start + len(text[start:end].rstrip())
        if start == end and introduced:
            # The position of an empty value can be that of the next token, which may be lines below.
            start = end = introduced[1] + text.startswith(":", introduced[1])
        return YamlNode("scalar", start, end, style, introduced, {})
    parts = data.items() if isinstance(data, dict) else enumerate(data)
    children: dict[str | int, YamlNode] = {part: _node(held, (*path, part), value) for part, value in parts}
    kind = "mapping" if isinstance(data, dict) else "sequence"
    if text[start] in "{[":
        return YamlNode(kind, start, end, "{", introduced, children)
    # A block ends with its last value: comments below that may be about what follows.
    return YamlNode(kind, start, max(child.last for child in children.values()), "", introduced, children)


def mutable(data: object) -> Any:  # noqa: ANN401  a document's data
    """Copy data so that it can be changed."""
    if isinstance(data, dict):
        return {key: mutable(value) for key, value in data.items()}
    return [mutable(value) for value in data] if isinstance(data, (tuple, list)) else data


def require_data(text: str, wanted: object) -> str:
    """Return the text if its data equal `wanted`. Raises CannotEdit."""
    if json.dumps(mutable(read(text)[0]), sort_keys=True) != json.dumps(wanted, sort_keys=True):
        raise CannotEdit("because of the file's layout, the edit would change other values")
    return text
