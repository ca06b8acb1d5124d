"""One fix, applied to the text of an inventory: nothing changes but the lines of the fix."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sparkiac.fix.cutting import cut
from sparkiac.fix.nodes import Refused, read
from sparkiac.fix.placing import put
from sparkiac.report import REMOVE, Edit, Removal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.report import Path


def edited(text: str, fix: Sequence[Edit]) -> str:
    """Apply the edits of one fix, all or none; paths are those of the text as it is given.

    Comments, order, quotes, layout and line ends stay. Raises Refused if it cannot be done so.
    """
    wanted = _plain(read(text)[0])
    for edit in fix:
        if not isinstance(edit.value, Removal):
            text = put(text, read(text)[1], edit.path, edit.value)
            _set(wanted, edit.path, edit.value)
    gone = [edit.path for edit in fix if edit.value is REMOVE]
    if gone:
        text = cut(text, read(text)[1], gone)
        _remove(wanted, gone)
    if json.dumps(_plain(read(text)[0]), sort_keys=True) != json.dumps(wanted, sort_keys=True):
        message = "the file is laid out so that the edit would say something else"
        raise Refused(message)
    return text


def _plain(data: object) -> Any:  # noqa: ANN401  a document's data
    """Copy data so that it can be changed."""
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    return [_plain(value) for value in data] if isinstance(data, tuple) else data


def _set(data: Any, path: Path, value: object) -> None:  # noqa: ANN401
    for part in path[:-1]:
        if isinstance(part, str) and data.get(part) is None:
            data[part] = {}
        data = data[part]
    data[path[-1]] = value


def _remove(data: Any, paths: Sequence[Path]) -> None:  # noqa: ANN401
    """Remove values, the last of a list first, and what they leave empty."""
    for path in sorted(paths, key=lambda path: [(isinstance(part, int), part) for part in path], reverse=True):
        holders = [data]
        for part in path[:-1]:
            holders.append(holders[-1][part])
        for holder, part in zip(reversed(holders), reversed(path), strict=True):
            del holder[part]
            if holder:
                break
