"""The lock as text. Only the part that changes is written anew: comments and order of the rest stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from sparkiac.render import yamltext

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.lock.record import Record
    from sparkiac.source.document import Document

_KEY: Final = "builds"
_EMPTY: Final[dict[str, Any]] = {"version": 1, "images": {}}


def with_record(document: Document | None, record: Record) -> dict[str, Any]:
    """Give the data of the lock with this record in it."""
    data = _EMPTY if document is None else cast("dict[str, Any]", document.data)
    builds = {**data.get(_KEY, {}), record.name: record.entry()}
    return {**data, _KEY: dict(sorted(builds.items()))}


def patched(text: str, document: Document, data: Mapping[str, Any]) -> str:
    """Write the builds of `data` over those of a lock that is laid out in lines, or below it if it has none.

    Of a lock that is laid out otherwise, what comes out says something else: the caller reads it again.
    """
    lines = text.splitlines(keepends=True)
    start = end = len(lines)
    if (_KEY,) in document.keys:
        start = document.keys[_KEY,].line - 1
        later = (mark.line - 1 for path, mark in document.keys.items() if len(path) == 1 and mark.line - 1 > start)
        end = min(later, default=len(lines))
        while end > start + 1 and _is_beside(lines[end - 1]):
            end -= 1
    before = "".join(lines[:start])
    newline = "" if before.endswith("\n") or not before else "\n"
    return before + newline + yamltext.dump({_KEY: data[_KEY]}) + "".join(lines[end:])


def whole(data: Mapping[str, Any]) -> str:
    """Write the whole lock."""
    return yamltext.dump(data)


def _is_beside(line: str) -> bool:
    """Whether a line belongs to no key: what stands before the next key stays there."""
    return not line.strip() or line.lstrip().startswith("#")
