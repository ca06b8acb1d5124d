"""Where values come from, as text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sparkiac.characters import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sparkiac.resolve.explain import Explained


def text(found: Iterable[Explained]) -> str:
    """Write each value with its layer, and below it what that layer took the place of."""
    return "".join(f"{line}\n" for each in found for line in _lines(each))


def plain(found: Iterable[Explained]) -> list[dict[str, Any]]:
    """Give the same as data, the value that holds first."""
    return [
        {"path": each.path, "said": [{"value": value, "from": str(origin)} for value, origin in reversed(each.values)]}
        for each in found
    ]


def _lines(each: Explained) -> Iterator[str]:
    (value, origin), *others = reversed(each.values)
    yield f"{each.path}: {_written(value)}"
    yield f"  from {origin}"
    for former, place in others:
        yield f"  over {_written(former)} of {place}"


def _written(value: object) -> str:
    return escaped(json.dumps(value, ensure_ascii=False))
