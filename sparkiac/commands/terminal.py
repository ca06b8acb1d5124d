"""Draw pages on the terminal. Long texts are wrapped at its width; nothing is cut."""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import indent
from typing import Final

import click
from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from sparkiac.words.page import Block, Bullets, Grid, Line, Stacked, Table, Verbatim

_BLOCK: Final = re.compile(r"^```\w*\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)


def console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """Return a terminal that prints texts as they are."""
    return Console(highlight=False, emoji=False, markup=False, stderr=stderr, quiet=quiet)


def width() -> int:
    """Return the columns of the terminal, or COLUMNS, or 80 for a pipe."""
    return Console().width


def is_terminal() -> bool:
    """Return whether standard output is a terminal, which can show colours and boxes."""
    return Console().is_terminal


def show(page: Iterable[Block]) -> None:
    """Print to standard output."""
    click.echo(drawn(page), nl=False)


def drawn(page: Iterable[Block]) -> str:
    """Return what standard output gets; without colour, lines have no trailing blanks."""
    return _captured((rendered(block), isinstance(block, Verbatim)) for block in page)


def markdown(text: str) -> str:
    """Return a page of Markdown: prose is wrapped, and blocks can be copied."""
    from rich.markdown import Markdown

    parts = enumerate(_BLOCK.split(text))
    return _captured(
        (f"\n{indent(part, ' ' * 4)}" if odd % 2 else Markdown(part), bool(odd % 2)) for odd, part in parts
    )


def _captured(parts: Iterable[tuple[RenderableType, bool]]) -> str:
    terminal = console()
    with terminal.capture() as captured:
        for part, verbatim in parts:
            terminal.print(part, soft_wrap=verbatim)
    text = captured.get()
    return text if terminal.is_terminal else "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def rendered(block: Block) -> RenderableType:
    """Return a part of a page for rich."""
    match block:
        case str():
            return Text(block)
        case Line():
            return Text.assemble(*block.parts, style=block.style, no_wrap=not block.wraps or None)
        case Stacked():
            lines = (Padding(Text(line, style="dim", overflow="fold"), (0, 0, 0, 2)) for line in block.below)
            return Group(Text(block.head, overflow="fold"), *lines)
        case Table():
            return _table(block)
        case Grid():
            return _grid(block)
        case Bullets():
            return Group(*map(_bullet, block.texts))


def _table(table: Table) -> RichTable:
    made = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for head in table.heads:
        justify = "right" if head in table.right else "left"
        made.add_column(Text(head), justify=justify, no_wrap=head in table.whole, overflow="fold")  # type: ignore[arg-type]
    for index, row in enumerate(table.rows):
        made.add_row(*map(rendered, row), style="bold" if index in table.strong else "")
    return made


def _grid(grid: Grid) -> RenderableType:
    made = RichTable.grid(padding=(0, grid.gap))
    for index, _ in enumerate(grid.rows[0] if grid.rows else ()):
        least = grid.widths[index] if index < len(grid.widths) else None
        justify = "right" if index == grid.right else "left"
        made.add_column(min_width=least, no_wrap=least is not None, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in grid.rows:
        made.add_row(*map(rendered, row), style=grid.style)
    return Padding(made, (0, 0, 0, grid.indent)) if grid.indent else made


def _bullet(text: str) -> Padding:
    row = RichTable.grid(padding=(0, 1, 0, 0))
    row.add_column(width=1)
    row.add_column(overflow="fold")
    row.add_row(Text("-"), Text(text))
    return Padding(row, (0, 0, 0, 2))
