"""A record or a comparison as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.bench import tables
from sparkiac.report.characters import escaped_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sparkiac.bench.comparison import BenchComparison
    from sparkiac.bench.tables import BenchTable
    from sparkiac.model.bench import BenchRecord


def of_record(record: BenchRecord) -> str:
    """Return the page of a record."""
    subject = record.subject
    lines = [f"# {_text(subject.title)}: {record.mode}", ""]
    facts = {
        "measured": f"{record.taken} with {record.tool}",
        "model": subject.model,
        "image": " ".join(filter(None, (subject.image, subject.digest))),
        "hosts": ", ".join(subject.hosts),
        "options": ", ".join(f"{name}: {value}" for name, value in sorted(subject.options.items())),
    }
    lines += [f"- {name}: {_text(value)}" for name, value in facts.items() if value]
    for table in tables.tables(record):
        lines += ["", *_table(table)]
    notes = tables.notes(record)
    return _joined([*lines, *([""] if notes else []), *(f"- {_text(note)}" for note in notes)])


def of_comparison(found: BenchComparison) -> str:
    """Return the page of a comparison."""
    lines = [f"# {found.verdict}", "", *_table(tables.compared(found))]
    for title, listed in (("Differences", found.differences), ("Only in one record", found.missing)):
        if listed:
            lines += ["", f"{title}:", "", *(f"- {_text(each)}" for each in listed)]
    return _joined(lines)


def _table(table: BenchTable) -> Iterator[str]:
    yield _line(table.columns)
    yield _line([":--" if place < table.left else "--:" for place in range(len(table.columns))])
    yield from map(_line, table.rows)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_text, cells))} |"


def _text(value: str) -> str:
    return escaped_line(value).replace("|", "\\|").replace("<", "&lt;")


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"
