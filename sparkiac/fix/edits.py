"""Changes the text of an inventory: applies a fix, adds or removes an entry, writes links. Other lines stay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sparkiac.fix.nodes import (
    CannotEdit,
    YamlNode,
    column,
    find,
    line_end,
    line_start,
    mutable,
    read,
    require_data,
    with_lines,
)
from sparkiac.fix.text import cut, flow, into_brackets, put, step
from sparkiac.report import REMOVE, Edit, Path, Removal

Values = Mapping[str, Any]
Links = Sequence[Mapping[str, Any]]
_DASH: Final = "- "


def edited(text: str, fix: Sequence[Edit]) -> str:
    """Apply all edits of one fix or none; paths refer to the text before the fix.

    Comments, order, quotes, layout and line ends are kept. Raises CannotEdit if that is impossible.
    """
    wanted = mutable(read(text)[0])
    for edit in fix:
        if not isinstance(edit.value, Removal):
            text = put(text, read(text)[1], edit.path, edit.value)
            _set(wanted, edit.path, edit.value)
    gone = [edit.path for edit in fix if edit.value is REMOVE]
    if gone:
        text = cut(text, read(text)[1], gone)
        _remove(wanted, gone)
    return require_data(text, wanted)


def _set(data: Any, path: Path, value: object) -> None:  # noqa: ANN401
    for part in path[:-1]:
        if isinstance(part, str) and data.get(part) is None:
            data[part] = {}
        data = data[part]
    data[path[-1]] = value


def _remove(data: Any, paths: Sequence[Path]) -> None:  # noqa: ANN401
    """Remove values, the last of a list first, and collections that become empty."""
    for path in sorted(paths, key=lambda path: [(isinstance(part, int), part) for part in path], reverse=True):
        parents = [data]
        for part in path[:-1]:
            parents.append(parents[-1][part])
        for holder, part in zip(reversed(parents), reversed(path), strict=True):
            del holder[part]
            if holder:
                break


def entry_names(text: str, *kinds: str) -> list[str]:
    """Return the entry_names of an inventory's entries of these kinds, such as `deployments`, sorted."""
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
        raise CannotEdit(f"{kind} has no value")
    wanted = mutable(data)
    wanted.setdefault(kind, {})[name] = mutable(values)
    return require_data(new, wanted)


def without_deployment(text: str, name: str) -> str:
    """Return the text without a deployment and the comments in its lines. Raises CannotEdit."""
    data, root = read(text)
    wanted = mutable(data)
    _remove(wanted, [("deployments", name)])
    return require_data(cut(text, root, [("deployments", name)], with_comments=True), wanted)


def _lines(name: str, values: Values, indent: int, width: int) -> list[str]:
    inner = " " * (indent + width)
    return [f"{' ' * indent}{name}:", *(f"{inner}{key}: {flow(value)}" for key, value in values.items())]


def with_links(text: str, host: str, links: Links, comments: Mapping[int, str]) -> str:
    """Return the text with these links of a host; `comments` are above the links with these indexes.

    Everything else stays as it is. Raises CannotEdit if that is impossible.
    """
    data, root = read(text)
    node, former = find(root, ("hosts", host)), find(root, ("hosts", host, "fabric", "links"))
    assert node is not None, "the inventory is valid"  # noqa: S101
    if former is None:
        new = _added(text, node, links, comments)
    elif former.style:
        new = text[: former.start] + flow(links) + text[former.end :]
    else:
        new = _replaced(text, former, links, comments)
    wanted = mutable(data)
    wanted["hosts"][host].setdefault("fabric", {})["links"] = mutable(links)
    return require_data(new, wanted)


def _added(text: str, host: YamlNode, links: Links, comments: Mapping[int, str]) -> str:
    """Add `fabric` after the last key of a host."""
    if host.style:
        return into_brackets(text, host, f"fabric: {{links: {flow(links)}}}")
    indent = " " * column(text, host)
    lines = [f"{indent}fabric:", f"{indent}  links:", *_block(links, comments, f"{indent}    ")]
    return with_lines(text, line_end(text, host.last), lines)


def _replaced(text: str, former: YamlNode, links: Links, comments: Mapping[int, str]) -> str:
    start = line_start(text, former.start)
    indent = text[start : former.start]
    if indent.strip(" "):
        raise CannotEdit("its links share a line with other values")
    cut = text[:start] + text[line_end(text, former.last) :]
    return with_lines(cut, start, _block(links, comments, indent))


def _block(links: Links, comments: Mapping[int, str], indent: str) -> Iterator[str]:
    for index, link in enumerate(links):
        if index in comments:
            yield f"{indent}# {comments[index]}"
        for number, (key, value) in enumerate(link.items()):
            yield f"{indent}{' ' * len(_DASH) if number else _DASH}{key}: {flow(value)}"
