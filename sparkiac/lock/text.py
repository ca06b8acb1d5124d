"""The lock as text. Unchanged entries keep their lines, comments, order and layout."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from sparkiac.render import yamltext

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.lock.record import Record
    from sparkiac.source.document import Document

HEADER: Final = """\
# What every moving name of the inventory stands for: written by `sparkiac lock`, read by `sparkiac generate`.
# Pins move only with `sparkiac lock --upgrade`. Review the diff like code.
"""
_EMPTY: Final[dict[str, Any]] = {"version": 1, "images": {}}
_STEP: Final = "  "
_SECTION: Final = 3
"""Mappings in lines: entries, what is said of each, and each key of that, such as one file of a model."""
_ENTRY: Final = 2


class _Part(NamedTuple):
    """A key with all that stands below it, as lines from `start` up to `end`."""

    key: str
    start: int
    end: int


def with_record(document: Document | None, record: Record) -> dict[str, Any]:
    """Give the data of the lock with this record in it."""
    data = _EMPTY if document is None else cast("dict[str, Any]", document.data)
    builds = {**data.get("builds", {}), record.name: record.entry()}
    return {**data, "builds": dict(sorted(builds.items()))}


def patched(text: str, document: Document, data: Mapping[str, Any]) -> str:
    """Write over a lock that is laid out in lines what `data` says otherwise.

    Of a lock that is laid out otherwise, what comes out says something else: the caller reads it again.
    """
    lines = [line if line.endswith("\n") else f"{line}\n" for line in text.splitlines(keepends=True)]
    parts = _parts(lines, document, ()) or []
    known = {part.key: part for part in parts}
    written = {
        key: _section(lines, known[key], document, value) if key in known else _entry(key, value, "", blocks=_SECTION)
        for key, value in data.items()
    }
    return "".join(_spliced(lines, parts, (0, len(lines)), written))


def whole(data: Mapping[str, Any]) -> str:
    """Write the whole lock."""
    return HEADER + "".join(line for key, value in data.items() for line in _entry(key, value, "", blocks=_SECTION))


def _section(lines: list[str], part: _Part, document: Document, new: Any) -> list[str]:  # noqa: ANN401
    """Give the lines of a section: entries that changed are written anew."""
    old = cast("dict[str, Any]", document.data)[part.key]
    own = lines[part.start : part.end]
    parts = _parts(lines, document, (part.key,)) if isinstance(old, dict) and old and new else None
    if old == new or parts is None:
        return own if old == new else _entry(part.key, new, "", blocks=_SECTION)
    first = lines[parts[0].start]
    indent = first[: len(first) - len(first.lstrip(" "))]
    same = {each.key: lines[each.start : each.end] for each in parts if old[each.key] == new.get(each.key)}
    written = {key: same.get(key) or _entry(key, value, indent, blocks=_ENTRY) for key, value in new.items()}
    return [own[0], *_spliced(lines, parts, (part.start + 1, part.end), written)]


def _spliced(
    lines: list[str], parts: list[_Part], span: tuple[int, int], written: Mapping[str, list[str]]
) -> list[str]:
    """Put what is written between the lines that belong to no part; a new key follows the one before it."""
    known = {part.key for part in parts}
    below: dict[str | None, list[str]] = {}
    above: str | None = None
    for key in written:
        above = key if key in known else above
        if key not in known:
            below.setdefault(above, []).extend(written[key])
    at, end = span
    found = below.get(None, [])
    for part in parts:
        found += lines[at : part.start]
        if part.key in written:
            found += [*written[part.key], *below.get(part.key, [])]
        at = part.end
    return [*found, *lines[at:end]]


def _parts(lines: list[str], document: Document, base: tuple[str, ...]) -> list[_Part] | None:
    """Cut the lines of a mapping's entries; None if they do not stand below each other."""
    marks = {path[-1]: mark for path, mark in document.keys.items() if path[:-1] == base}
    starts = [mark.line - 1 for mark in marks.values()]
    own = document.keys[base].line - 1 if base else -1
    straight = all(one < other for one, other in pairwise([own, *starts]))
    if not straight or len({mark.column for mark in marks.values()}) != 1:
        return None
    later = (mark.line - 1 for path, mark in document.keys.items() if len(path) == 1 and mark.line - 1 > own)
    stop = min(later, default=len(lines)) if base else len(lines)
    ends = [_end(lines, start, end) for start, end in pairwise([*starts, stop])]
    return [_Part(str(key), start, end) for key, start, end in zip(marks, starts, ends, strict=True)]


def _end(lines: list[str], start: int, end: int) -> int:
    """Leave off blank lines and comments: what stands before the next key stays there."""
    while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end


def _entry(key: str, value: Any, indent: str, *, blocks: int) -> list[str]:  # noqa: ANN401  plain data of a lock
    """Write a key and its value, whose mappings stand in lines as deep as `blocks`; what is deeper stands in one."""
    head = f"{indent}{yamltext.key(key)}:"
    if not blocks or not isinstance(value, dict) or not value:
        return [f"{head} {yamltext.flow(value)}\n"]
    below = (_entry(name, inner, indent + _STEP, blocks=blocks - 1) for name, inner in value.items())
    return [f"{head}\n", *(line for lines in below for line in lines)]
