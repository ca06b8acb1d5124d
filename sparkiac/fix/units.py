"""Adds an entry to the text of an inventory, or removes a deployment; all other lines stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sparkiac.fix.cutting import cut
from sparkiac.fix.nodes import CannotEdit, column, line_end, mutable, read, require_data, with_lines
from sparkiac.fix.placing import flow, into_brackets, step

Values = Mapping[str, Any]

_KEY: Final = "deployments"


def names(text: str, *kinds: str) -> list[str]:
    """Return the names of an inventory's entries of these kinds, such as `deployments`, sorted."""
    _, root = read(text)
    return sorted(str(name) for kind in kinds if kind in root.children for name in root.children[kind].children)


def with_entry(text: str, kind: str, name: str, values: Values) -> str:
    """Return the text with one more entry of a kind, such as `deployments`, below the others. Raises CannotEdit."""
    data, root = read(text)
    node, width = root.children.get(kind), step(text, root)
    if node is None:
        new = with_lines(text, len(text), [f"{kind}:", *_lines(name, values, width, width)])
    elif node.style == "{":
        new = into_brackets(text, node, f"{name}: {flow(values)}")
    elif node.kind == "mapping":
        new = with_lines(text, line_end(text, node.last), _lines(name, values, column(text, node), width))
    else:
        message = f"{kind} has no value"
        raise CannotEdit(message)
    wanted = mutable(data)
    wanted.setdefault(kind, {})[name] = mutable(values)
    return require_data(new, wanted)


def without_deployment(text: str, name: str) -> str:
    """Return the text without a deployment and the comments in its lines. Raises CannotEdit."""
    data, root = read(text)
    wanted = mutable(data)
    del wanted[_KEY][name]
    if not wanted[_KEY]:
        del wanted[_KEY]
    return require_data(cut(text, root, [(_KEY, name)], with_comments=True), wanted)


def _lines(name: str, values: Values, indent: int, width: int) -> list[str]:
    inner = " " * (indent + width)
    return [f"{' ' * indent}{name}:", *(f"{inner}{key}: {flow(value)}" for key, value in values.items())]
