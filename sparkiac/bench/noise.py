"""Whether two sets of samples differ: the Mann-Whitney test, Holm's correction, and quantiles.

The test makes no assumption about the distribution of the samples. With up to 20 samples on each side and no ties its
p-value is exact; otherwise it is that of the normal distribution, corrected for ties and continuity.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

_EXACT: Final = 20


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile, interpolated between the two nearest values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the two-sided p-value: the probability that samples of one distribution differ at least as much."""
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
