"""The test of two samples, against published values and against simulated noise."""

from __future__ import annotations

import random

import pytest

from sparkiac.bench import comparison, summary
from sparkiac.model.bench import BenchRecord, BenchSubject, PointRecord, RoundRecord

SEEDS = range(20)


def record(seed: int, *, slower: float = 0.0, rounds: int = 12, spread: float = 0.04) -> BenchRecord:
    """Return a run of a server whose requests vary by 4 %, with a rare slow one."""
    source = random.Random(seed)

    def one() -> RoundRecord:
        factor = (1 + slower) * source.lognormvariate(0, spread) * (1.3 if source.random() < 0.03 else 1)
        ttft = 0.5 * (1 + slower) * source.lognormvariate(0, spread)
        total = ttft + 5.0 * factor
        return RoundRecord(
            seconds=total, prompt_tokens=(2000,), output_tokens=(256,), ttft_s=(ttft,), total_s=(total,),
            gap_s=(0.03,), parts=(256,), reasoning_parts=(0,),
        )  # fmt: skip

    point = PointRecord(
        name="single", prompt_tokens=2000, output_tokens=256, rounds=tuple(one() for _ in range(rounds))
    )
    subject = BenchSubject(url="http://spark-01:8001", model="org/chat")
    return BenchRecord(mode="single", tool="test", taken="2026-11-01T00:00:00Z", subject=subject, points=(point,))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3], [4, 5, 6], 0.1),  # 2 of the 20 orders are as extreme
        ([1, 2, 3, 4], [5, 6, 7, 8], 2 / 70),
        ([19, 22, 16, 29, 24], [20, 11, 17, 12], 0.11111),  # the example of SciPy's mannwhitneyu
        ([1, 3], [2, 4], 2 / 3),
        ([5, 5, 5], [5, 5, 5], 1.0),
        ([], [1.0], 1.0),
    ],
)
def test_p_values(first: list[float], second: list[float], expected: float) -> None:
    assert comparison.p_value(first, second) == pytest.approx(expected, abs=1e-4)
    assert comparison.p_value(second, first) == pytest.approx(expected, abs=1e-4)


def test_p_values_with_ties_and_with_many_samples_are_those_of_the_normal_distribution() -> None:
    """By hand: 3.5 wins, mean 12.5, variance 25 / 12 · (11 - 36 / 90), so z = 1.809."""
    assert comparison.p_value([1, 2, 2, 3, 4], [2, 4, 5, 5, 6]) == pytest.approx(0.07048, abs=1e-5)
    apart = list(range(30)), list(range(100, 130))
    assert comparison.p_value(*apart) < 1e-9


def test_holm_corrects_for_the_number_of_tests() -> None:
    corrected = comparison.holm({"a": 0.01, "b": 0.04, "c": 0.03})
    assert corrected == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})


def test_quantiles_are_interpolated() -> None:
    assert [summary.quantile([3.0, 1.0, 2.0], share) for share in (0, 0.25, 0.5, 1)] == [1, 1.5, 2, 3]


def test_a_comparison_with_and_without_drafts_names_the_drafts_and_finds_their_gain() -> None:
    """The same prompts with and without speculation: the server is started twice."""
    without, drafting = record(1), record(2, slower=-0.4)
    told = drafting.subject.model_copy(update={"speculative": {"method": "mtp", "num_speculative_tokens": 2}})
    found = comparison.compare(without, drafting.model_copy(update={"subject": told}))
    assert found.verdict == comparison.FASTER
    assert found.differences == ("method: unset → mtp", "num_speculative_tokens: unset → 2")


def test_two_equal_runs_are_not_distinguished_in_19_of_20_comparisons() -> None:
    verdicts = [comparison.compare(record(seed), record(1000 + seed)).verdict for seed in SEEDS]
    assert verdicts.count(comparison.CANNOT_TELL) >= 19


def test_a_slowdown_by_10_percent_is_found_in_19_of_20_comparisons() -> None:
    verdicts = [comparison.compare(record(seed), record(1000 + seed, slower=0.1)).verdict for seed in SEEDS]
    assert verdicts.count(comparison.SLOWER) >= 19
    back = [comparison.compare(record(1000 + seed, slower=0.1), record(seed)).verdict for seed in SEEDS]
    assert back.count(comparison.FASTER) >= 19


def test_false_alarms_over_many_runs() -> None:
    """Seeded, so the count is always the same; 2 % of 400 comparisons are 8, and their spread is about 3."""
    pairs = ((record(seed), record(5000 + seed)) for seed in range(400))
    found = [comparison.compare(*pair).verdict for pair in pairs]
    assert sum(verdict != comparison.CANNOT_TELL for verdict in found) <= 14


def test_a_difference_below_2_percent_does_not_count_however_sure_it_is() -> None:
    [row] = [
        row
        for row in comparison.compare(record(1, spread=0.0001), record(2, slower=0.015, spread=0.0001)).rows
        if row.quantity == "TTFT"
    ]
    assert row.p is not None
    assert row.p < 0.001
    assert row.verdict == comparison.CANNOT_TELL


def test_too_few_rounds_give_no_verdict() -> None:
    found = comparison.compare(record(1, rounds=3), record(2, rounds=3, slower=1.0))
    assert found.verdict == comparison.CANNOT_TELL
    assert {row.p for row in found.rows} == {None}
