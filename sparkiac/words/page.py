"""The parts of a page: lines, tables and lists. A command draws them on a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from sparkiac.memory.values import Unknown

NARROW: Final = 78
"""Below this width, lists have no columns: a long name and four columns do not fit."""
MANY: Final = 8
"""Most hosts, and most files of a folder, that are shown one by one."""
BAD: Final = "bold red"
SEVERITIES: Final = {"error": "red", "warning": "yellow", "info": "cyan"}
"""Severity of a finding or symptom → its colour."""
_MINUTE_S: Final = 60
_HOUR_S: Final = 3600
_NUMBER: Final = re.compile(r"(\d+)")
_LAST_NUMBER: Final = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)
_RANGE: Final = 3
"""Fewest names with consecutive numbers that are written as a range."""

Data: TypeAlias = dict[str, Any]


class Verbatim(str):
    """Text to be copied: its lines are never wrapped."""

    __slots__ = ()


class Line(NamedTuple):
    """A text of which parts have a style."""

    parts: tuple[str | tuple[str, str], ...]
    """Texts, or pairs of a text and its style."""
    style: str = ""
    """Style of the whole text."""
    wraps: bool = True


class Stacked(NamedTuple):
    """A name with dim, indented lines below it."""

    head: str
    below: tuple[str, ...]


Cell: TypeAlias = str | Line | Stacked
Row: TypeAlias = Sequence[Cell]


class Table(NamedTuple):
    """A table with a head."""

    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    right: frozenset[str]
    """Heads of columns that are aligned right."""
    whole: frozenset[str]
    """Heads of columns that are not wrapped."""
    strong: frozenset[int]
    """Rows in bold."""


class Grid(NamedTuple):
    """Rows in columns without a head."""

    rows: tuple[Row, ...]
    widths: tuple[int, ...] = ()
    """Minimum widths of the first columns, which are then not wrapped."""
    right: int | None = None
    """Column that is aligned right."""
    gap: int = 2
    indent: int = 2
    style: str = ""


class Bullets(NamedTuple):
    """A list; wrapped lines are indented to the text after the dash."""

    texts: tuple[str, ...]


Block: TypeAlias = Cell | Table | Grid | Bullets
Blocks: TypeAlias = Iterator[Block]


def line(*parts: str | tuple[str, str]) -> Line:
    """Return a line of texts, and of pairs of a text and its style."""
    return Line(parts)


def styled(text: str, style: str) -> Line:
    """Return a text with a style."""
    return Line((text,), style)


def heading(text: str) -> Line:
    """Return the title of a section, after an empty line."""
    return Line((f"\n{text}",), "bold")


def table(
    heads: Iterable[str],
    rows: Iterable[Row],
    *,
    right: Iterable[str] = (),
    whole: Iterable[str] = (),
    strong: Iterable[int] = (),
) -> Table:
    """Return a table."""
    return Table(tuple(heads), tuple(rows), frozenset(right), frozenset(whole), frozenset(strong))


def grid(rows: Iterable[Row]) -> Grid:
    """Return rows in columns."""
    return Grid(tuple(rows))


def bullets(texts: Iterable[str]) -> Bullets:
    """Return a list."""
    return Bullets(tuple(texts))


def stacked(head: str, *below: str) -> Stacked:
    """Return a name with lines below it; empty ones are left out."""
    return Stacked(head, tuple(filter(None, below)))


def section(title: str, block: Table | Grid | Bullets) -> Blocks:
    """Return a table or list below its title; nothing if it is empty."""
    if block.texts if isinstance(block, Bullets) else block.rows:
        yield heading(title)
        yield block


def text(cell: Cell) -> str:
    """Return a cell without its styles."""
    if isinstance(cell, Line):
        return "".join(part if isinstance(part, str) else part[0] for part in cell.parts)
    return cell if isinstance(cell, str) else "\n".join((cell.head, *cell.below))


def value(given: Any) -> str:  # noqa: ANN401  plain data
    """Return a value as JSON, and a text unchanged."""
    if isinstance(given, str):
        return given
    return json.dumps(given, ensure_ascii=False, sort_keys=True)


def number(given: float) -> str:
    """Return a number without trailing zeros, such as 49 or 21.94."""
    return f"{given:g}"


def counted(count: int, what: str) -> str:
    """Return a number with its unit in words, such as `1 host` or `2 hosts`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def names(listed: Sequence[str]) -> str:
    """Return names in words: `a`, `a and b`, `a, b and c`."""
    *first, last = listed
    return f"{', '.join(first)} and {last}" if first else last


def natural(name: str) -> list[str | int]:
    """Return a key that sorts names by their numbers: spark-2 before spark-10."""
    return [int(each) if each.isdecimal() else each for each in _NUMBER.split(name)]


def runs(listed: Iterable[str]) -> list[list[str]]:
    """Return names in their order; those with consecutive numbers are in one list."""
    found: list[list[str]] = []
    for name in dict.fromkeys(listed):
        if found and _next(found[-1][-1]) == name:
            found[-1].append(name)
        else:
            found.append([name])
    return found


def _next(name: str) -> str | None:
    """Return the name with the next number, such as spark-10 after spark-09."""
    found = _LAST_NUMBER.fullmatch(name)
    return f"{found[1]}{int(found[2]) + 1:0{len(found[2])}}{found[3]}" if found else None


def ranges(listed: Iterable[str], to: str = " to ") -> str:
    """Return names in their order; three or more with consecutive numbers are `first to last`."""
    found = runs(listed)
    return ", ".join(f"{run[0]}{to}{run[-1]}" if len(run) >= _RANGE else ", ".join(run) for run in found)


def duration(seconds: float) -> str:
    """Return a time such as 8 s, 3 min 20 s or 2 h 5 min."""
    whole = int(seconds)
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S} min {whole % _MINUTE_S} s"
    return f"{whole // _HOUR_S} h {whole % _HOUR_S // _MINUTE_S} min"


def plain(given: Any, keys: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401  plain JSON data
    """Return named tuples and models as mappings; `keys` has the fields whose key differs from their name.

    An unknown value is {"unknown": [names of the missing facts]}.
    """
    keys = keys or {}
    if isinstance(given, Unknown):
        return {"unknown": list(dict.fromkeys(given.missing))}
    if hasattr(given, "_asdict"):
        return {keys.get(key, key): plain(inner, keys) for key, inner in given._asdict().items()}
    if hasattr(given, "model_dump"):
        return given.model_dump(mode="json", exclude_none=True)
    if isinstance(given, dict):
        return {key: plain(inner, keys) for key, inner in given.items()}
    if isinstance(given, tuple | list):
        return [plain(inner, keys) for inner in given]
    return given
