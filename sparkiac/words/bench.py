"""Records and comparisons of measurements: tables and notes, as pages and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sparkiac.bench import points, summary
from sparkiac.bench.comparison import BenchComparison, Row
from sparkiac.bench.summary import number
from sparkiac.model.bench import BenchRecord, PointRecord
from sparkiac.report.characters import escaped_line
from sparkiac.words.page import BAD, Blocks, Table, bullets, heading, styled, table, text

_STYLES: Final = {"faster": "bold green", "slower": BAD}
_NONE: Final = "-"


def page(record: BenchRecord) -> Blocks:
    """Return the tables of a record, and its notes."""
    subject = record.subject
    where = f" on {', '.join(subject.hosts)}" if subject.hosts else ""
    yield heading(f"{subject.title}{where}: {record.mode}, {record.tool}")
    for each in tables(record):
        yield from ("", each)
    interrupted = ["interrupted: fewer rounds than requested"] if record.interrupted else []
    if listed := [*notes(record), *interrupted]:
        yield from ("", bullets(listed))


def comparison(found: BenchComparison) -> Blocks:
    """Return the rows of a comparison, the verdict, and what was not equal."""
    yield from ("", compared(found))
    listed = {"Differences between the records:": found.differences, "In one record only:": found.missing}
    for title, texts in listed.items():
        if texts:
            yield from (f"\n{title}", bullets(texts))
    yield styled(f"\n{found.verdict}", _STYLES.get(found.verdict, "bold"))


def markdown(record: BenchRecord) -> str:
    """Return a record as Markdown."""
    subject = record.subject
    lines = [f"# {_escaped(subject.title)}: {record.mode}", ""]
    facts = {
        "measured": f"{record.taken} with {record.tool}",
        "model": subject.model,
        "image": " ".join(filter(None, (subject.image, subject.digest))),
        "hosts": ", ".join(subject.hosts),
        "options": ", ".join(f"{name}: {value}" for name, value in sorted(subject.options.items())),
    }
    lines += [f"- {name}: {_escaped(value)}" for name, value in facts.items() if value]
    for each in tables(record):
        lines += ["", *_markdown_table(each)]
    listed = notes(record)
    return _joined([*lines, *([""] if listed else []), *(f"- {_escaped(note)}" for note in listed)])


def comparison_markdown(found: BenchComparison) -> str:
    """Return a comparison as Markdown."""
    lines = [f"# {found.verdict}", "", *_markdown_table(compared(found))]
    for title, listed in (("Differences", found.differences), ("Only in one record", found.missing)):
        if listed:
            lines += ["", f"{title}:", "", *(f"- {_escaped(each)}" for each in listed)]
    return _joined(lines)


def _markdown_table(found: Table) -> Iterator[str]:
    yield _line(found.heads)
    yield _line("--:" if head in found.right else ":--" for head in found.heads)
    yield from (_line(map(text, row)) for row in found.rows)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(value: str) -> str:
    return escaped_line(value).replace("|", "\\|").replace("<", "&lt;")


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]], left: int = 1) -> Table:
    """Return a table in which `left` columns are text and the others are numbers."""
    shown = ([styled(cell, _STYLES[cell]) if cell in _STYLES else cell for cell in row] for row in rows)
    return table(columns, shown, right=columns[left:])


def tables(record: BenchRecord) -> Iterator[Table]:
    """Yield the tables of a record."""
    measured = tuple(point for point in record.points if point.rounds)
    if measured:
        yield _measured(measured)
    if speculative := [(point, found) for point in measured if (found := summary.speculation(point))]:
        rows = tuple(
            (
                point.name,
                f"{found.acceptance:.1%}",
                f"{found.waste:.1%}",
                f"{found.accepted_length:.2f} of {found.draft_length:.3g}",
                " ".join(f"{share:.0%}" for share in found.per_position) or _NONE,
            )
            for point, found in speculative
        )
        columns = ("speculative decoding", "accepted", "wasted", "accepted per step", "by position")
        yield _table(columns, rows)
    for point in record.points:
        if point.reported:
            reported = tuple((name, number(value)) for name, value in point.reported.items())
            yield _table((point.name, "value"), reported)
    if record.tools:
        yield _tools(record)
    if record.phases:
        yield _phases(record)
    if record.expected:
        yield _expected(record)


def notes(record: BenchRecord) -> list[str]:
    """Return sentences about a record: the best concurrency of a sweep, and its own notes."""
    return [*filter(None, (_knee(record),)), *record.notes]


def _knee(record: BenchRecord) -> str | None:
    if record.mode != "sweep":
        return None
    found = [
        (point.concurrency, spread.median)
        for point in record.points
        if (spread := summary.requests(point, summary.THROUGHPUT))
    ]
    level = points.knee(found)
    if level is None:
        return None
    best = max(value for _, value in found)
    knee = f"{level} concurrent requests have at least 90 % of the highest throughput"
    return f"knee: {knee} ({number(best)} tokens/s)"


def compared(found: BenchComparison) -> Table:
    """Return the rows of a comparison."""
    columns = ("point", "quantity", "first", "second", "change", "p", "verdict")
    return _table(columns, tuple(_row(row) for row in found.rows), left=2)


def _measured(measured: tuple[PointRecord, ...]) -> Table:
    """Return a block of rows for each point: its name and sizes, and one quantity in each row."""
    rows: list[tuple[str, ...]] = []
    for point in measured:
        heads = iter((point.name, f"{_tokens(point)} tokens", f"{len(point.rounds)} rounds"))
        usual = (summary.THROUGHPUT, summary.TTFT, summary.PREFILL, summary.DECODE, summary.TOTAL)
        for quantity in summary.quantities(point) if point.long_tokens else usual:
            found = summary.requests(point, quantity)
            if found is None or (quantity is summary.THROUGHPUT and point.concurrency == 1):
                continue
            values = (found.median, found.p10, found.p90, found.p99)
            rows.append((next(heads, ""), f"{quantity.name}, {quantity.unit}", *map(number, values)))
    return _table(("point", "quantity", "median", "10 %", "90 %", "99 %"), tuple(rows), left=2)


def _tokens(point: PointRecord) -> str:
    prompts = [tokens for each in point.rounds for tokens in each.prompt_tokens]
    outputs = [tokens for each in point.rounds for tokens in each.output_tokens]
    return f"{sum(prompts) / len(prompts):.0f} → {sum(outputs) / len(outputs):.0f}" if prompts else _NONE


def _tools(record: BenchRecord) -> Table:
    passed = sum(sum(case.passed) for case in record.tools)
    count = sum(len(case.passed) for case in record.tools)
    rows = [(case.name, f"{sum(case.passed)} of {len(case.passed)}", case.fault or "") for case in record.tools]
    rows.append(("all", f"{passed} of {count}", f"{passed / count:.0%}"))
    return _table(("tool calls", "right", "last fault"), tuple(rows), left=4)


def _phases(record: BenchRecord) -> Table:
    rows = [(phase.name, f"{phase.seconds:.1f}") for phase in record.phases]
    whole = f"{sum(phase.seconds for phase in record.phases):.1f}"
    return _table(("phase of the start", "seconds"), (*rows, ("all", whole)))


def _expected(record: BenchRecord) -> Table:
    first = next((point for point in record.points if point.rounds), None)
    quantity = {"single": summary.DECODE, "stall": summary.STALL}.get(record.mode)
    found = summary.requests(first, quantity) if first and quantity else None
    context = summary.prompt(first) if first and record.mode == "single" else None
    rows = []
    for each in record.expected:
        verdict = ""
        if found is not None and each.low is not None and each.high is not None and each.context == context:
            median = found.median / 1000 if quantity is summary.STALL else found.median
            verdict = f"measured {number(median)}: {'inside' if each.low <= median <= each.high else 'outside'}"
        rows.append((each.what, each.value, verdict, each.source))
    return _table(("expected", "value", "measured", "source"), tuple(rows), left=4)


def _row(row: Row) -> tuple[str, ...]:
    p = _NONE if row.p is None else "<0.001" if row.p < 0.001 else f"{row.p:.3f}"  # noqa: PLR2004  three digits
    unit = f" {row.unit}" if row.unit else ""
    values = (f"{number(row.first)}{unit}", f"{number(row.second)}{unit}", f"{row.change:+.1%}")
    return (row.point, row.quantity, *values, p, row.verdict)
