"""The formulas, with the figures that sources print. Where a source is inconsistent, the test says so."""

from __future__ import annotations

import pytest

from sparkiac.bench import client
from sparkiac.bench.client import Sample
from sparkiac.memory.speed import step_tokens
from tests.bench import published

BLOG = [
    (1834, 1.12, 32, 2.47, 1636, 23.7),
    (7234, 3.85, 32, 5.26, 1877, 22.7),
    (1834, 1.12, 108, 5.74, 1639, 23.4),
    (7234, 3.84, 124, 9.26, 1884, 22.9),
]
"""Rows of the vLLM blog: prompt, TTFT, tokens, latency, prefill and decode speed."""
SPECULATION = [
    ("filler", 0, 59.5, 23.2, 23.0, 1.2, 41, 21.0, 11, 5529),
    ("code", 0, 71.7, 33.2, 33.0, 1.4, 28, 27.5, 6, 3858),
    ("structured", 0, 79.0, 33.6, 33.4, 1.6, 21, 26.3, 6, 3814),
    ("filler", 4096, 55.7, 14.4, 14.3, 1.1, 44, 13.7, 22, 8932),
    ("code", 4096, 71.7, 38.6, 38.3, 1.4, 28, 32.0, 5, 3318),
    ("structured", 4096, 65.5, 35.4, 35.2, 1.3, 35, 30.5, 5, 3617),
    ("filler", 8192, 62.3, 14.2, 14.1, 1.2, 38, 12.6, 21, 9038),
    ("code", 8192, 73.1, 39.2, 38.9, 1.5, 27, 31.9, 6, 3268),
    ("structured", 8192, 65.2, 34.8, 34.5, 1.3, 35, 30.4, 6, 3689),
]
"""Rows of tool-eval-bench: kind, depth, acceptance, effective and stream speed, accepted tokens, waste, draft speed,
TTFT and total in ms."""


@pytest.mark.parametrize(
    ("prompt", "ttft", "rate"),
    [
        *((6019, 0.967, 6225), (3097, 0.502, 6172), (6019, 0.965, 6240), (3098, 0.507, 6115)),
        *((1527, 0.298, 5124), (1527, 0.235, 6498)),
    ],
)
def test_v22a_to_v22e_prefill_of_the_guide(prompt: int, ttft: float, rate: float) -> None:
    """The printed TTFT is rounded to a millisecond."""
    assert client.prefill_speed(prompt, ttft) == pytest.approx(rate, rel=0.002)


@pytest.mark.parametrize(("decode", "tpot"), [(102, 9.80), (125, 8.00), (117, 8.55), (115, 8.70)])
def test_v22f_time_per_token(decode: float, tpot: float) -> None:
    """A response of 257 tokens at this speed has this time per token."""
    sample = Sample(6019, 257, 0.967, 0.967 + 256 / decode)
    assert sample.decode == pytest.approx(decode)
    assert 1000 / (sample.decode or 0) == pytest.approx(tpot, abs=0.005)


def test_v22g_tokens_of_a_step() -> None:
    assert step_tokens(3, 0.8) == pytest.approx(2.952)


def test_speeds_from_two_tokens_are_noisy() -> None:
    """The blog calls this row noisy: 2 tokens in 0.11 s."""
    assert client.prefill_speed(58, 0.42) == pytest.approx(140, rel=0.02)
    assert published.effective_speed(2, 0.42, 0.53) == pytest.approx(23, rel=0.25)


@pytest.mark.parametrize("row", BLOG, ids=["v24", "v25", "v26", "v27"])
def test_the_blog_counts_the_first_token(row: tuple[int, float, int, float, float, float]) -> None:
    prompt, ttft, tokens, total, prefill, decode = row
    assert client.prefill_speed(prompt, ttft) == pytest.approx(prefill, rel=0.002)
    assert published.effective_speed(tokens, ttft, total) == pytest.approx(decode, rel=0.003)
    without = client.decode_speed(tokens, ttft, total)
    assert without == pytest.approx(decode * (tokens - 1) / tokens, rel=0.003)


def test_v27b_ttft_grows_less_than_the_prompt() -> None:
    assert client.change(1.12, 3.85) + 1 == pytest.approx(3.44, abs=0.005)
    assert client.change(1834, 7234) + 1 == pytest.approx(3.94, abs=0.005)


@pytest.mark.parametrize(("tokens", "rate", "seconds"), [(5, 23.7, 0.21), (15, 22.7, 0.66)])
def test_turns_of_a_game(tokens: int, rate: float, seconds: float) -> None:
    assert published.effective_speed(tokens, 1.0, 1.0 + seconds) == pytest.approx(rate, rel=0.01)


def test_v28b_eager_against_graphs() -> None:
    assert client.change(59, 26) == pytest.approx(-0.559, abs=0.0005)


def test_scores_of_tool_eval_bench() -> None:
    assert published.half_up(published.score(28, 30)) == 93
    assert [published.half_up(published.score(points, 6)) for points in (6, 4)] == [100, 67]
    assert published.half_up(published.deployability(93, 42)) == 78
    assert published.half_up(28 / 40.751, 1) == 0.7


@pytest.mark.parametrize("row", SPECULATION, ids=lambda row: f"{row[0]}-{row[1]}")
def test_speculation_of_tool_eval_bench(
    row: tuple[str, int, float, float, float, float, int, float, int, int],
) -> None:
    _, _, alpha, effective, streamed, tau, waste, draft, ttft, total = row
    times = ttft / 1000, total / 1000
    assert published.half_up(published.effective_speed(128, *times), 1) == effective
    assert published.half_up(client.decode_speed(128, *times) or 0, 1) == streamed
    assert published.half_up(client.draft_length(alpha / 100, 2), 1) == tau
    assert abs(100 * client.waste(alpha / 100) - waste) <= 0.51  # 40.5 is printed as 41, 34.5 as 35
    assert published.draft_speed(effective, alpha / 100, 2) == pytest.approx(draft, rel=0.012)


def test_means_of_the_nine_rows() -> None:
    mean = sum(row[2] for row in SPECULATION) / len(SPECULATION)
    assert published.half_up(mean) == 67
    assert published.half_up(client.draft_length(mean / 100, 2), 1) == 1.3
    assert published.half_up(100 * client.waste(mean / 100)) == 33


@pytest.mark.parametrize(("value", "digits", "rounded"), [(0.5, 0, 1), (2.5, 0, 3), (-2.5, 0, -3), (1.25, 1, 1.3)])
def test_rounding_half_up(value: float, digits: int, rounded: float) -> None:
    assert published.half_up(value, digits) == rounded


@pytest.mark.parametrize(
    ("before", "after", "percent"),
    [
        *((55.5, 63.8, 14.95), (53.2, 50.7, -4.7), (56.1, 59.5, 6.1), (55.3, 56.5, 2.2)),
        *((108, 96, -11.1), (67.0, 64.7, -3.4), (57.6, 56.9, -1.2), (86.1, 88.1, 2.3), (95.3, 96.4, 1.2)),
    ],
)
def test_changes_of_the_dual_spark_posts(before: float, after: float, percent: float) -> None:
    """V38's text says +40 %, which its own table does not show."""
    assert 100 * client.change(before, after) == pytest.approx(percent, abs=0.06)


@pytest.mark.parametrize(
    ("one", "many", "factor"), [(12, 33, 2.75), (10.5, 37.6, 3.58), (6, 92, 15.3), (26, 477, 18.3), (26, 1460, 56.2)]
)
def test_factors(one: float, many: float, factor: float) -> None:
    assert client.change(one, many) + 1 == pytest.approx(factor, rel=0.005)


def test_what_cannot_be_computed_is_none() -> None:
    assert client.prefill_speed(0, 1) is None
    assert client.prefill_speed(5, 0) is None
    assert client.decode_speed(1, 0.1, 0.5) is None
    assert client.decode_speed(9, 0.5, 0.5) is None
