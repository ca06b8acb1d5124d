"""Adds an entry to the text of an inventory, or removes a deployment; all other lines stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac.fix.cutting import cut
from sparkiac.fix.nodes import CannotEdit, YamlNode, line_end, line_start, newline, read
from sparkiac.fix.placing import flow, step
from sparkiac.fix.wanted import as_wanted, mutable

if TYPE_CHECKING:
    from collections.abc import Mapping

    Values = Mapping[str, Any]

_KEY: Final = "deployments"


def names(text: str, *kinds: str) -> list[str]:
    """Return the names of an inventory's entries of these kinds, such as `deployments`, sorted."""
    _, root = read(text)
    return sorted(str(name) for kind in kinds if kind in root.children for name in root.children[kind].children)


def with_entry(text: str, kind: str, name: str, values: Values) -> str:
    """Return the text with one more entry of a kind, such as `deployments`, below the others. Raises CannotEdit."""
    data, root = read(text)
    node = root.children.get(kind)
    if node is None:
        new = _appended(text, kind, _block(name, values, step(text, root), step(text, root), newline(text)))
    elif node.style == "{":
        new = _into_brackets(text, node, name, values)
    elif node.kind == "mapping":
        new = _below(text, node, name, values, step(text, root))
    else:
        message = f"{kind} has no value"
        raise CannotEdit(message)
    wanted = mutable(data)
    wanted.setdefault(kind, {})[name] = mutable(values)
    return as_wanted(new, wanted)


def without_deployment(text: str, name: str) -> str:
    """Return the text without a deployment and the comments in its lines. Raises CannotEdit."""
    data, root = read(text)
    wanted = mutable(data)
    del wanted[_KEY][name]
    if not wanted[_KEY]:
        del wanted[_KEY]
    return as_wanted(cut(text, root, [(_KEY, name)], with_comments=True), wanted)


def _appended(text: str, kind: str, block: str) -> str:
    end = newline(text)
    before = text if text.endswith("\n") else f"{text}{end}"
    return f"{before}{kind}:{end}{block}"


def _below(text: str, node: YamlNode, name: str, values: Values, width: int) -> str:
    first = next(iter(node.children.values())).first
    place = line_end(text, node.last)
    end = newline(text)
    before = text[:place] if text[:place].endswith("\n") else f"{text[:place]}{end}"
    return before + _block(name, values, first - line_start(text, first), width, end) + text[place:]


def _block(name: str, values: Values, column: int, width: int, end: str) -> str:
    indent = " " * column
    lines = [f"{indent}{name}:", *(f"{indent}{' ' * width}{key}: {flow(value)}" for key, value in values.items())]
    return "".join(f"{line}{end}" for line in lines)


def _into_brackets(text: str, node: YamlNode, name: str, values: Values) -> str:
    pairs = ", ".join(f"{key}: {flow(value)}" for key, value in values.items())
    place = [*node.children.values()][-1].last if node.children else node.start + 1
    comma = ", " if node.children else ""
    return f"{text[:place]}{comma}{name}: {{{pairs}}}{text[place:]}"
