"""JSON answers in which one value was replaced by a hostile one."""

from __future__ import annotations

import copy
import json
import random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

WHOLE: Final = ("", "\n", "Welcome!", "{", "[]", "null", "NaN", "1e400", '"text"', "\ufffd\x00{", "[" * 100_000)
"""Answers that are nothing of what is expected."""
RAW: Final = (
    *("null", "true", "false", "0", "-1", "3", "1.5", "NaN", "Infinity", "-Infinity", "1e400", "1e308", "-"),
    *(str(2**63), "1" + "0" * 400, "1" + "0" * 5_000),
    *('""', '"x"', '"\\ud800"', '"a\\nb: c"', '"\\u0000\\u001b[31m\\u202e"', '"\'\\"{{ x }}{% y %}"', '"\u2028"'),
    *('"1.2.3.4/99"', '"10.0.0.1/0"', '"fe80::1/64"', f'"{"x" * 200_000}"', f'"{"9" * 5_000}"'),
    *(
        "[]",
        "{}",
        "[null]",
        "[[]]",
        "[{}]",
        '["x"]',
        '[["x"]]',
        '[["x", "y", "z", "w"]]',
        '{"x": null}',
        '{"\\n": "\\n"}',
    ),
    *(
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 900 + "1" + "}" * 900,
        '{"a":' * 5_000 + "1" + "}" * 5_000,
    ),
)
"""JSON values, and texts that are none."""
_MARK: Final = "@here@"


class HostileAnswer(NamedTuple):
    """A valid answer with one value replaced by a text, or left out."""

    valid: Any
    path: tuple[str | int, ...]
    """Path of the value; empty for the whole answer."""
    raw: str | None
    """What is there instead; None if its key is left out."""

    def __str__(self) -> str:
        """Return what is hostile."""
        what = "nothing" if self.raw is None else self.raw[:20].encode("ascii", "backslashreplace").decode()
        return f"{what} for {'.'.join(map(str, self.path)) or 'all'}"

    @property
    def text(self) -> str:
        """Return the answer."""
        if self.raw is None:
            return json.dumps(put(self.valid, self.path, None, leave_out=True))
        return json.dumps(put(self.valid, self.path, _MARK)).replace(f'"{_MARK}"', self.raw) if self.path else self.raw


def all_of(valid: Any) -> Iterator[HostileAnswer]:  # noqa: ANN401  any JSON value
    """Yield every hostile answer: each value replaced by each of RAW, and each key left out."""
    yield from (HostileAnswer(valid, (), text) for text in WHOLE)
    for path in paths(valid):
        yield from (HostileAnswer(valid, path, raw) for raw in RAW)
        if isinstance(path[-1], str):
            yield HostileAnswer(valid, path, None)


def some_of(valid: Any, *, seed: str, count: int) -> list[HostileAnswer]:  # noqa: ANN401
    """Return some of them, the same ones for a seed."""
    return random.Random(seed).sample([*all_of(valid)], count)


def paths(value: Any, before: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:  # noqa: ANN401
    """Yield the path of each value in it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*before, key)
        yield from paths(inner, (*before, key))


def put(value: Any, path: tuple[str | int, ...], new: object, *, leave_out: bool = False) -> Any:  # noqa: ANN401
    """Return a copy with another value, or none, at a path."""
    made = copy.deepcopy(value)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    if leave_out:
        del inner[path[-1]]
    return made
