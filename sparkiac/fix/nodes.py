"""Where each value of a YAML text stands, as offsets: what is cut and put is only the text between them.

ruamel.yaml reads the text. Its writer is not used: it would lay out all lines anew, and of a key that is removed it
takes the comment below it, which is the next key's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.report import Path

_BLOCK_STYLES: Final = ("|", ">")


class Refused(Exception):  # noqa: N818  it is an answer, not a failure
    """What is wanted cannot be done without touching other lines; the message says why."""


class Node(NamedTuple):
    """One value: its offsets in the text, how it is written, and what it holds."""

    kind: str
    """`scalar`, `mapping` or `sequence`."""
    start: int
    end: int
    style: str
    """The quote or the sign of a block of text; `{` of a collection between brackets; empty otherwise."""
    key: tuple[int, int] | None
    """Offsets of the key that introduces it."""
    children: Mapping[str | int, Node]

    @property
    def first(self) -> int:
        """Offset of the key, or of the value if it has none."""
        return self.key[0] if self.key else self.start

    @property
    def last(self) -> int:
        """Offset after the value, or after the key if no value follows."""
        return max(self.end, self.key[1] if self.key else 0)


def read(text: str) -> Node:
    """Read one document. Raise Refused where ruamel.yaml sees another one than the gate, which let it through."""
    try:
        root: Any = YAML(typ="rt", pure=True).compose(text)
    except YAMLError as error:
        message = f"ruamel.yaml cannot read the file: {error}"
        raise Refused(message) from error
    return _node(text, root, None)


def find(root: Node, path: Path) -> Node | None:
    """Give the value at a path."""
    node: Node | None = root
    for part in path:
        node = node.children.get(part) if node else None
    return node


def line_start(text: str, offset: int) -> int:
    """Give the offset of the first character of a line."""
    return text.rfind("\n", 0, offset) + 1


def line_end(text: str, offset: int) -> int:
    """Give the offset after a line's end, which the last line need not have."""
    return text.find("\n", offset) + 1 or len(text)


def _node(text: str, node: Any, key: Any) -> Node:  # noqa: ANN401  ruamel.yaml's nodes
    introduced = (key.start_mark.index, key.end_mark.index) if key is not None else None
    start, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, ScalarNode):
        style = node.style or ""
        if style in _BLOCK_STYLES:
            end = start + len(text[start:end].rstrip())
        if start == end and introduced:
            # ruamel.yaml has an empty value where the next one starts, which may be lines below.
            start = end = introduced[1] + text.startswith(":", introduced[1])
        return Node("scalar", start, end, style, introduced, {})
    children: dict[str | int, Node] = {}
    if isinstance(node, MappingNode):
        children = {str(inner.value): _node(text, value, inner) for inner, value in node.value}
    elif isinstance(node, SequenceNode):
        children = {index: _node(text, value, None) for index, value in enumerate(node.value)}
    kind = "mapping" if isinstance(node, MappingNode) else "sequence"
    if node.flow_style:
        return Node(kind, start, end, "{", introduced, children)
    # A block ends with what it holds: comments below that may be about what follows.
    return Node(kind, start, max(child.last for child in children.values()), "", introduced, children)
