"""The lock as text. Unchanged entries keep their lines, comments, order and layout."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple, cast

from sparkiac.render import yamltext
from sparkiac.source.document import Document

HEADER: Final = """\
# Exact versions of images, models and files: written by `sparkiac lock`, read by `sparkiac generate`.
# Pins move only with `sparkiac lock --upgrade`. Review the diff like code.
"""
_STEP: Final = "  "
_LEVELS: Final = 3
"""How many levels of a section are written one key per line: entries, their keys, and the keys below these."""
_DEEPER: Final = {"hosts": 4}
"""Section → its number of levels, if it is another one."""


class _Block(NamedTuple):
    """The lines of a key and everything below it, from `start` up to `end`."""

    key: str
    start: int
    end: int


def patched(text: str, document: Document, data: Mapping[str, Any]) -> str:
    """Return the text of a lock with its changed entries replaced, so that it contains `data`.

    The layout must be one line for each key. For another layout the result can be wrong, so the caller must read it
    and compare it with `data`.
    """
    lines = [line if line.endswith("\n") else f"{line}\n" for line in text.splitlines(keepends=True)]
    blocks = _blocks(lines, document, ()) or []
    known = {block.key: block for block in blocks}
    written = {
        key: _section(lines, known[key], document, value) if key in known else _new(key, value)
        for key, value in data.items()
    }
    return "".join(_spliced(lines, blocks, (0, len(lines)), written))


def whole(data: Mapping[str, Any]) -> str:
    """Return a new lock as text."""
    return HEADER + "".join(line for key, value in data.items() for line in _new(key, value))


def _section(lines: list[str], block: _Block, document: Document, new: Any) -> list[str]:  # noqa: ANN401
    """Return the lines of a section, with new lines for changed entries."""
    old = cast("dict[str, Any]", document.data)[block.key]
    own, levels = lines[block.start : block.end], _DEEPER.get(block.key, _LEVELS)
    blocks = _blocks(lines, document, (block.key,)) if isinstance(old, dict) and old and new else None
    if old == new or blocks is None:
        return own if old == new else _new(block.key, new)
    first = lines[blocks[0].start]
    indent = first[: len(first) - len(first.lstrip(" "))]
    same = {each.key: lines[each.start : each.end] for each in blocks if old[each.key] == new.get(each.key)}
    written = {key: same.get(key) or _entry(key, value, indent, levels=levels - 1) for key, value in new.items()}
    return [own[0], *_spliced(lines, blocks, (block.start + 1, block.end), written)]


def _spliced(
    lines: list[str], blocks: list[_Block], span: tuple[int, int], written: Mapping[str, list[str]]
) -> list[str]:
    """Replace the blocks of the written keys and keep all other lines; a new key goes below its predecessor."""
    known = {block.key for block in blocks}
    below: dict[str | None, list[str]] = {}
    above: str | None = None
    for key in written:
        above = key if key in known else above
        if key not in known:
            below.setdefault(above, []).extend(written[key])
    at, end = span
    found = below.get(None, [])
    for block in blocks:
        found += lines[at : block.start]
        if block.key in written:
            found += [*written[block.key], *below.get(block.key, [])]
        at = block.end
    return [*found, *lines[at:end]]


def _blocks(lines: list[str], document: Document, base: tuple[str, ...]) -> list[_Block] | None:
    """Return the blocks of a mapping's keys; None if the keys are not below each other."""
    marks = {path[-1]: mark for path, mark in document.keys.items() if path[:-1] == base}
    starts = [mark.line - 1 for mark in marks.values()]
    own = document.keys[base].line - 1 if base else -1
    straight = all(one < other for one, other in pairwise([own, *starts]))
    if not straight or len({mark.column for mark in marks.values()}) != 1:
        return None
    later = (mark.line - 1 for path, mark in document.keys.items() if len(path) == 1 and mark.line - 1 > own)
    stop = min(later, default=len(lines)) if base else len(lines)
    ends = [_end(lines, start, end) for start, end in pairwise([*starts, stop])]
    return [_Block(str(key), start, end) for key, start, end in zip(marks, starts, ends, strict=True)]


def _end(lines: list[str], start: int, end: int) -> int:
    """Return the end of a block without blank lines and comments, which belong to the next key."""
    while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end


def _new(section: str, value: Any) -> list[str]:  # noqa: ANN401  plain data of a lock
    return _entry(section, value, "", levels=_DEEPER.get(section, _LEVELS))


def _entry(key: str, value: Any, indent: str, *, levels: int) -> list[str]:  # noqa: ANN401  plain data of a lock
    """Return the lines of a key; mappings are written one key per line for `levels` levels, deeper ones on one line."""
    head = f"{indent}{yamltext.key(key)}:"
    if not levels or not isinstance(value, dict) or not value:
        return [f"{head} {yamltext.flow(value)}\n"]
    below = (_entry(name, inner, indent + _STEP, levels=levels - 1) for name, inner in value.items())
    return [f"{head}\n", *(line for lines in below for line in lines)]
