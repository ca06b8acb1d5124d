"""Blocks of terminal pages. Long texts are wrapped at the width of the terminal; nothing is cut."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

import click
from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

NARROW: Final = 78
"""Below this width, lists have no columns: a long name and four columns do not fit."""


class Verbatim(str):
    """Text to be copied: its lines are never wrapped."""

    __slots__ = ()


def width() -> int:
    """Return the columns of the terminal, or COLUMNS, or 80 for a pipe."""
    return Console().width


def is_terminal() -> bool:
    """Return whether standard output is a terminal, which can show colours and boxes."""
    return Console().is_terminal


def show(parts: Iterable[RenderableType]) -> None:
    """Print to standard output."""
    click.echo(drawn(parts), nl=False)


def drawn(parts: Iterable[RenderableType]) -> str:
    """Return what standard output gets; without colour, lines have no trailing blanks."""
    console = Console(highlight=False, emoji=False, markup=False)
    with console.capture() as captured:
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, Verbatim))
    text = captured.get()
    return text if console.is_terminal else "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def heading(text: str) -> Text:
    """Return the title of a section, after an empty line."""
    return Text(f"\n{text}", style="bold")


def table(*columns: str, right: Sequence[str] = (), whole: Sequence[str] = ()) -> Table:
    """Return a table; columns in `right` are aligned right, those in `whole` are not wrapped."""
    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column in columns:
        justify = "right" if column in right else "left"
        made.add_column(Text(column), justify=justify, no_wrap=column in whole, overflow="fold")  # type: ignore[arg-type]
    return made


def grid(rows: Iterable[tuple[str | RenderableType, ...]]) -> Padding:
    """Return rows in columns without a head; the last column is wrapped."""
    made = Table.grid(padding=(0, 2))
    rows = list(rows)
    for _ in rows[0] if rows else ():
        made.add_column(overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return Padding(made, (0, 0, 0, 2))


def bullets(texts: Iterable[str]) -> Group:
    """Return a list; wrapped lines are indented to the text after the dash."""
    rows = []
    for text in texts:
        row = Table.grid(padding=(0, 1, 0, 0))
        row.add_column(width=1)
        row.add_column(overflow="fold")
        row.add_row(Text("-"), Text(text))
        rows.append(Padding(row, (0, 0, 0, 2)))
    return Group(*rows)


def stacked(head: str, *below: str) -> Group:
    """Return a name with dim, indented lines below it."""
    lines = (Padding(Text(line, style="dim", overflow="fold"), (0, 0, 0, 2)) for line in below if line)
    return Group(Text(head, overflow="fold"), *lines)


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


def brief_image(pinned: str) -> str:
    """Return an image with 12 digits of its digest."""
    name, at, digest = pinned.partition("@sha256:")
    return f"{name}@{digest[:12]}" if at else pinned
