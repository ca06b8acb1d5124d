"""Applies one fix to the text of an inventory, changing only the lines of the fix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparkiac.fix.cutting import cut
from sparkiac.fix.nodes import mutable, read, require_data
from sparkiac.fix.placing import put
from sparkiac.report import REMOVE, Edit, Path, Removal


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
