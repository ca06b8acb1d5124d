"""Position of each value in a YAML text, as offsets, so that edits change only the text between them.

ruamel.yaml parses the text. Its writer is not used: it reformats all lines, and when a key is removed it also removes
the comment below, which belongs to the next key.
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


class CannotEdit(Exception):  # noqa: N818  expected result, not an error
    """The edit would change other lines; the message says why."""


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


def read(text: str) -> YamlNode:
    """Read one document. Raises CannotEdit where ruamel.yaml and the gate read it differently."""
    try:
        root: Any = YAML(typ="rt", pure=True).compose(text)
    except YAMLError as error:
        message = f"ruamel.yaml cannot read the file: {error}"
        raise CannotEdit(message) from error
    return _node(text, root, None)


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


def _node(text: str, node: Any, key: Any) -> YamlNode:  # noqa: ANN401  ruamel.yaml's nodes
    introduced = (key.start_mark.index, key.end_mark.index) if key is not None else None
    start, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, ScalarNode):
        style = node.style or ""
        if style in _BLOCK_STYLES:
            end = start + len(text[start:end].rstrip())
        if start == end and introduced:
            # ruamel.yaml puts an empty value at the start of the next one, which may be lines below.
            start = end = introduced[1] + text.startswith(":", introduced[1])
        return YamlNode("scalar", start, end, style, introduced, {})
    children: dict[str | int, YamlNode] = {}
    if isinstance(node, MappingNode):
        children = {str(inner.value): _node(text, value, inner) for inner, value in node.value}
    elif isinstance(node, SequenceNode):
        children = {index: _node(text, value, None) for index, value in enumerate(node.value)}
    kind = "mapping" if isinstance(node, MappingNode) else "sequence"
    if node.flow_style:
        return YamlNode(kind, start, end, "{", introduced, children)
    # A block ends with its last child: comments below may belong to the next key.
    return YamlNode(kind, start, max(child.last for child in children.values()), "", introduced, children)
