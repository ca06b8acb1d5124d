"""Compare two records: faster, slower, or cannot tell.

Each quantity of each point that both records have is a row. The p-values of all rows are corrected together, so that
two equal runs differ in any row at most once in fifty comparisons. A row differs if its corrected p-value is below 2 %
and its medians differ by 2 % or more: two starts of the same server can differ by less.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from sparkiac.bench import client, summary
from sparkiac.model.bench import BenchRecord, PointRecord

ALPHA: Final = 0.02
SMALLEST: Final = 0.02
FEWEST: Final = 4
"""With fewer rounds, no difference can be significant."""
FASTER: Final = "faster"
SLOWER: Final = "slower"
CANNOT_TELL: Final = "cannot tell"
MIXED: Final = "faster and slower"
_TOOLS: Final = "tool calls"
_EXACT: Final = 20


class Row(NamedTuple):
    """One quantity of one point in two records."""

    point: str
    quantity: str
    unit: str
    first: float
    second: float
    """Medians."""
    change: float
    """Relative change of the median: 0.1 is 10 % more."""
    p: float | None
    """Corrected p-value; None if there are too few samples."""
    verdict: str
    counts: tuple[int, int]
    """Rounds of each record."""


class BenchComparison(NamedTuple):
    """Two records side by side."""

    rows: tuple[Row, ...]
    verdict: str
    differences: tuple[str, ...]
    """Differences in options, image, sizes or machines."""
    missing: tuple[str, ...]
    """Points that only one record has."""


class _QuantityPair(NamedTuple):
    point: str
    quantity: str
    unit: str
    higher_is_better: bool
    first: list[float]
    second: list[float]

    @property
    def key(self) -> str:
        return f"{self.point}/{self.quantity}"


def compare(first: BenchRecord, second: BenchRecord) -> BenchComparison:
    """Compare the second record with the first one."""
    ones, others = ({point.name: point for point in each.points} for each in (first, second))
    pairs = [pair for name in ones if name in others for pair in _pairs(ones[name], others[name])]
    pairs += _tools(first, second)
    enough = {pair.key: pair for pair in pairs if min(len(pair.first), len(pair.second)) >= FEWEST}
    corrected = holm({key: p_value(pair.first, pair.second) for key, pair in enough.items()})
    rows = tuple(_row(pair, corrected.get(pair.key)) for pair in pairs)
    missing = tuple(sorted(ones.keys() ^ others.keys()))
    return BenchComparison(rows, _overall(rows), tuple(_differences(first, second)), missing)


def _pairs(first: PointRecord, second: PointRecord) -> Iterator[_QuantityPair]:
    for each in summary.quantities(first):
        both = summary.by_round(first, each), summary.by_round(second, each)
        if all(both):
            yield _QuantityPair(first.name, each.name, each.unit, each.higher_is_better, *both)
    for name, value in first.reported.items():
        if name in second.reported:
            better = "tokens/s" in name or "throughput" in name
            yield _QuantityPair(first.name, name, "", better, [value], [second.reported[name]])


def _tools(first: BenchRecord, second: BenchRecord) -> list[_QuantityPair]:
    rates = [[100.0 * passed for case in each.tools for passed in case.passed] for each in (first, second)]
    return (
        [_QuantityPair(_TOOLS, "success", "%", higher_is_better=True, first=rates[0], second=rates[1])]
        if all(rates)
        else []
    )


def _row(pair: _QuantityPair, p: float | None) -> Row:
    middle = statistics.fmean if pair.point == _TOOLS else statistics.median
    first, second = middle(pair.first), middle(pair.second)
    change = client.change(first, second) if first else 0.0
    verdict = CANNOT_TELL
    if p is not None and p < ALPHA and abs(change) >= SMALLEST:
        verdict = FASTER if (change > 0) == pair.higher_is_better else SLOWER
    counts = len(pair.first), len(pair.second)
    return Row(pair.point, pair.quantity, pair.unit, first, second, change, p, verdict, counts)


def _overall(rows: tuple[Row, ...]) -> str:
    found = {row.verdict for row in rows} - {CANNOT_TELL}
    return MIXED if len(found) > 1 else next(iter(found), CANNOT_TELL)


def _differences(first: BenchRecord, second: BenchRecord) -> Iterator[str]:
    """Return the differences between servers and settings, as a warning that the comparison may not be fair."""
    for name in ("mode", "tool", "thinking"):
        yield from _different(name, getattr(first, name), getattr(second, name))
    ones, others = first.subject.model_dump(), second.subject.model_dump()
    for name in ("model", "engine", "platform", "image", "digest", "commits", "versions", "hosts"):
        yield from _different(name, ones[name], others[name])
    for name in ("options", "speculative"):
        before, after = ones[name] or {}, others[name] or {}
        for key in sorted(before.keys() | after.keys()):
            yield from _different(key, before.get(key, "unset"), after.get(key, "unset"))
    sizes = [
        {point.name: (point.prompt_tokens, point.output_tokens) for point in each.points} for each in (first, second)
    ]
    for name in sorted(sizes[0].keys() & sizes[1].keys()):
        yield from _different(f"tokens of {name}", sizes[0][name], sizes[1][name])


def _different(name: str, before: object, after: object) -> Iterator[str]:
    if before != after:
        yield f"{name}: {_shown(before)} → {_shown(after)}"


def _shown(value: object) -> str:
    return "none" if value in (None, "", {}, ()) else str(value)


def p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the two-sided p-value: the probability that samples of one distribution differ at least as much.

    The Mann-Whitney test makes no assumption about the distribution. With up to 20 samples on each side and no ties the
    p-value is exact; otherwise it is that of the normal distribution, corrected for ties and continuity.
    """
    few, many = len(first), len(second)
    if not few or not many:
        return 1.0
    wins = sum((a > b) + 0.5 * (a == b) for a in first for b in second)
    smaller = min(wins, few * many - wins)
    tied = len({*first, *second}) < few + many
    if not tied and max(few, many) <= _EXACT:
        # The distribution is symmetric: both tails are twice the smaller one. In its middle, they overlap.
        below = sum(_orders(few, many, wins) for wins in range(int(smaller) + 1))
        return min(1.0, 2 * below / math.comb(few + many, few))
    return _normal(few, many, smaller, [*first, *second])


def holm(found: Mapping[str, float]) -> dict[str, float]:
    """Return the p-values after the Holm correction, which keeps false alarms rare in many comparisons."""
    corrected, highest = dict[str, float](), 0.0
    for place, (name, value) in enumerate(sorted(found.items(), key=lambda item: item[1])):
        # The factor falls from value to value: without this, a larger p-value could be corrected to a smaller one.
        highest = max(highest, min(1.0, value * (len(found) - place)))
        corrected[name] = highest
    return corrected


@cache
def _orders(few: int, many: int, wins: int) -> int:
    """Return how many orders of two samples without ties have this Mann-Whitney U."""
    if wins < 0 or wins > few * many:
        return 0
    if few == 0 or many == 0:
        return 1
    # The largest of all samples is one of the first set and beats the whole second set, or it is one of the second.
    return _orders(few - 1, many, wins - many) + _orders(few, many - 1, wins)


def _normal(few: int, many: int, smaller: float, pooled: Sequence[float]) -> float:
    total = few + many
    ties = sum(count**3 - count for count in (pooled.count(value) for value in set(pooled)))
    variance = few * many / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    # 0.5: the statistic has whole values, and the normal distribution does not.
    distance = (few * many / 2 - smaller - 0.5) / math.sqrt(variance)
    return min(1.0, 2 * (1 - statistics.NormalDist().cdf(max(0.0, distance))))
