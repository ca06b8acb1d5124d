"""The tables of a record and of a comparison, for the terminal and for Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.bench import points, summary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.bench.comparison import BenchComparison, Row
    from sparkiac.model.bench import BenchRecord, PointRecord

_NONE: Final = "-"


class BenchTable(NamedTuple):
    """A table of texts."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    """Columns of text; the others are numbers."""


def tables(record: BenchRecord) -> Iterator[BenchTable]:
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
        yield BenchTable(columns, rows)
    for point in record.points:
        if point.reported:
            reported = tuple((name, number(value)) for name, value in point.reported.items())
            yield BenchTable((point.name, "value"), reported)
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
    text = f"{level} concurrent requests have at least 90 % of the highest throughput"
    return f"knee: {text} ({number(best)} tokens/s)"


def compared(found: BenchComparison) -> BenchTable:
    """Return the rows of a comparison."""
    columns = ("point", "quantity", "first", "second", "change", "p", "verdict")
    return BenchTable(columns, tuple(_row(row) for row in found.rows), left=2)


def number(value: float) -> str:
    """Return a number with three significant digits, and at least all digits before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"  # noqa: PLR2004  four digits


def _measured(measured: tuple[PointRecord, ...]) -> BenchTable:
    """Return a block of rows for each point: its name and sizes, and one quantity in each row."""
    rows: list[tuple[str, ...]] = []
    for point in measured:
        heads = iter((point.name, f"{_tokens(point)} tokens", f"{len(point.rounds)} rounds"))
        for quantity in (summary.THROUGHPUT, summary.TTFT, summary.PREFILL, summary.DECODE, summary.TOTAL):
            found = summary.requests(point, quantity)
            if found is None or (quantity is summary.THROUGHPUT and point.concurrency == 1):
                continue
            values = (found.median, found.p10, found.p90, found.p99)
            rows.append((next(heads, ""), f"{quantity.name}, {quantity.unit}", *map(number, values)))
    return BenchTable(("point", "quantity", "median", "10 %", "90 %", "99 %"), tuple(rows), left=2)


def _tokens(point: PointRecord) -> str:
    prompts = [tokens for each in point.rounds for tokens in each.prompt_tokens]
    outputs = [tokens for each in point.rounds for tokens in each.output_tokens]
    return f"{sum(prompts) / len(prompts):.0f} → {sum(outputs) / len(outputs):.0f}" if prompts else _NONE


def _tools(record: BenchRecord) -> BenchTable:
    passed = sum(sum(case.passed) for case in record.tools)
    count = sum(len(case.passed) for case in record.tools)
    rows = [(case.name, f"{sum(case.passed)} of {len(case.passed)}", case.fault or "") for case in record.tools]
    rows.append(("all", f"{passed} of {count}", f"{passed / count:.0%}"))
    return BenchTable(("tool calls", "right", "last fault"), tuple(rows), left=4)


def _phases(record: BenchRecord) -> BenchTable:
    rows = [(phase.name, f"{phase.seconds:.1f}") for phase in record.phases]
    whole = f"{sum(phase.seconds for phase in record.phases):.1f}"
    return BenchTable(("phase of the start", "seconds"), (*rows, ("all", whole)))


def _expected(record: BenchRecord) -> BenchTable:
    first = next((point for point in record.points if point.rounds), None)
    found = summary.requests(first, summary.DECODE) if first and record.mode == "single" else None
    context = summary.prompt(first) if first and found else None
    rows = []
    for each in record.expected:
        verdict = ""
        if found is not None and each.low is not None and each.high is not None and each.context == context:
            inside = each.low <= found.median <= each.high
            verdict = f"measured {number(found.median)}: {'inside' if inside else 'outside'}"
        rows.append((each.what, each.value, verdict, each.source))
    return BenchTable(("expected", "value", "measured", "source"), tuple(rows), left=4)


def _row(row: Row) -> tuple[str, ...]:
    p = _NONE if row.p is None else "<0.001" if row.p < 0.001 else f"{row.p:.3f}"  # noqa: PLR2004  three digits
    unit = f" {row.unit}" if row.unit else ""
    values = (f"{number(row.first)}{unit}", f"{number(row.second)}{unit}", f"{row.change:+.1%}")
    return (row.point, row.quantity, *values, p, row.verdict)
