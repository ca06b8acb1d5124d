"""A record or a comparison for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from sparkiac.bench import tables
from sparkiac.formats import terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from sparkiac.bench.comparison import BenchComparison
    from sparkiac.bench.tables import BenchTable
    from sparkiac.model.bench import BenchRecord

_STYLES: Final = {"faster": "bold green", "slower": "bold red"}


def page(record: BenchRecord) -> Iterator[RenderableType]:
    """Yield the tables of a record, and its notes."""
    subject = record.subject
    where = f" on {', '.join(subject.hosts)}" if subject.hosts else ""
    yield terminal.heading(f"{subject.title}{where}: {record.mode}, {record.tool}")
    for table in tables.tables(record):
        yield Text()
        yield _table(table)
    notes = tables.notes(record)
    if record.interrupted:
        notes.append("interrupted: fewer rounds than requested")
    if notes:
        yield Text()
        yield terminal.bullets(notes)


def comparison(found: BenchComparison) -> Iterator[RenderableType]:
    """Yield the rows of a comparison, the verdict, and what was not equal."""
    yield Text()
    yield _table(tables.compared(found))
    for title, listed in (
        ("Differences between the records:", found.differences),
        ("In one record only:", found.missing),
    ):
        if listed:
            yield Text(f"\n{title}")
            yield terminal.bullets(listed)
    yield Text(f"\n{found.verdict}", style=_STYLES.get(found.verdict, "bold"))


def _table(table: BenchTable) -> RenderableType:
    made = terminal.table(*table.columns, right=table.columns[table.left :])
    for row in table.rows:
        made.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    return made
