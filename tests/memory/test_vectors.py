"""The figures of the sources, each worked out from what they state beside it, with the tolerance they allow.

Those that do not fit each other are marked: the test then shows by how much, and does not bend the formula.
"""

from __future__ import annotations

import math

import pytest

from sparkiac.memory.budget import Server, group_bytes, host, requested_bytes, server
from sparkiac.memory.fit import fit
from sparkiac.memory.speed import Range, prefill_seconds, step_tokens
from sparkiac.memory.values import GIB, Term
from tests.memory.known import GUIDE, LATEST, MTP_3, QWEN, TOTAL_BYTES, laid, told

POOL_BYTES = round(76.49 * GIB)
TOKENS = 4_843_965
TOKEN_BYTES = POOL_BYTES / TOKENS
"""What one token costs by the guide's log; an average over a request of 65,536, with its states and padding."""
LAYOUT = laid(QWEN, GUIDE, speculation=MTP_3)
WEIGHTS = Term("weights", round(21.94 * GIB), "Spark guide L345")
RATE = Range(6200, 6200, "Spark guide L600")


def placed(utilization: float, total: int = TOTAL_BYTES) -> Server:
    return server(
        "qwen",
        total_bytes=total,
        options=told({**GUIDE, "gpu_memory_utilization": utilization}),
        weights=WEIGHTS,
    )


def pool_bytes(utilization: float, total: int = TOTAL_BYTES) -> int:
    pool = placed(utilization, total).pool.size_bytes
    assert pool is not None
    return pool


# -- the pool of KV cache (Spark guide L345-359) ----------------------------------------------------


def test_v1_v2_a_token_of_the_log_costs_16_6_kib() -> None:
    assert pytest.approx(16_955.2, abs=0.1) == TOKEN_BYTES
    assert pytest.approx(16.6, abs=0.05) == TOKEN_BYTES / 1024  # the guide writes KB


def test_v1_the_allocator_gives_the_tokens_of_the_log_exactly() -> None:
    assert LAYOUT.tokens(POOL_BYTES) == TOKENS
    assert LAYOUT.blocks(POOL_BYTES) == 3400
    assert LAYOUT.block_tokens == 2144
    assert LAYOUT.block_bytes == 11 * 2144 * 1024


def test_v3_the_pool_holds_73_91_requests_of_65536() -> None:
    assert LAYOUT.concurrency(POOL_BYTES) == pytest.approx(73.91, abs=0.005)
    assert pytest.approx(73.91, abs=0.005) == TOKENS / 65_536


def test_v4_four_requests_are_262144_tokens_and_fit() -> None:
    assert 4 * LAYOUT.context == 262_144
    assert fit(LAYOUT, POOL_BYTES, max_num_seqs=4).all


def test_v5_one_request_of_256k_takes_about_4_gb_by_the_average_and_3_3_by_the_allocator() -> None:
    assert 4.0 < 262_144 * TOKEN_BYTES / GIB < 4.5
    assert 4.0 < 262_144 * TOKEN_BYTES / 1e9 < 4.5
    long = laid(QWEN, {**GUIDE, "max_model_len": 262_144}, speculation=MTP_3)
    assert long.request_bytes / 1e9 == pytest.approx(3.33, abs=0.01)


def test_v6_a_pool_of_1_4m_tokens_holds_five_requests_of_256k_by_the_average() -> None:
    assert math.floor(1_400_000 / 262_144) == 5
    assert math.floor(23 * GIB / TOKEN_BYTES / 262_144) == 5


@pytest.mark.parametrize(
    ("pool_gib", "tokens", "requests", "tolerance"),
    [(76, 4.8e6, 74, 0.01), (39, 2.4e6, 37, 0.03), (23, 1.4e6, 22, 0.045)],
    ids=["v7", "v8", "v9"],
)
def test_v7_v8_v9_pools_of_the_table_hold_their_tokens(
    pool_gib: int, tokens: float, requests: float, tolerance: float
) -> None:
    size = pool_gib * GIB
    for counted in (LAYOUT.tokens(size), size / TOKEN_BYTES):
        assert counted == pytest.approx(tokens, rel=tolerance)
    assert LAYOUT.concurrency(size) == pytest.approx(requests, rel=tolerance)


def test_v10_freed_memory_is_the_difference_of_utilization_of_128_gb() -> None:
    assert round(0.35 * 128) == 45
    assert round(0.45 * 128) == 58
    freed = requested_bytes(TOTAL_BYTES, 0.85) - requested_bytes(TOTAL_BYTES, 0.4)
    assert freed / 1e9 == pytest.approx(57.6, abs=0.1)


def test_v11_two_pools_of_the_table_give_the_memory_of_the_machine() -> None:
    assert pytest.approx(118.87, abs=0.01) == (76.49 - 23) / (0.85 - 0.4)


def test_v12_the_overhead_of_the_log_is_2_9_gib_and_3_are_assumed() -> None:
    overhead = requested_bytes(TOTAL_BYTES, 0.85) - (WEIGHTS.size_bytes or 0) - POOL_BYTES
    assert overhead / GIB == pytest.approx(2.90, abs=0.01)
    assert [(term.name, term.size_bytes, term.assumed) for term in placed(0.85).inside[1:]] == [
        ("runtime", 3 * GIB, True)
    ]
    assert pool_bytes(0.85) == pytest.approx(POOL_BYTES, rel=0.03)
    assert pool_bytes(0.4) == pytest.approx(23 * GIB, rel=0.015)


def test_v12_the_row_for_0_5_fits_neither_of_the_two_others() -> None:
    # Inconsistent in the source: 39 GiB are 4.3 above the line through its other rows.
    assert pool_bytes(0.5) / GIB == pytest.approx(34.77, abs=0.11)
    assert 39 * GIB / pool_bytes(0.5) - 1 == pytest.approx(0.125, abs=0.005)
    assert pool_bytes(0.5) == pytest.approx(39 * GIB, rel=0.15)


def test_v12b_the_tokens_for_0_5_are_2_2_million_and_not_2_4() -> None:
    size = round(34.77 * GIB)
    assert LAYOUT.tokens(size) == pytest.approx(2.20e6, rel=0.005)
    assert LAYOUT.concurrency(size) == pytest.approx(33.6, abs=0.05)


def test_v12c_another_total_gives_another_pool() -> None:
    overhead = 0.85 * 121 - 21.94 - 76.49
    assert overhead == pytest.approx(4.42, abs=0.01)
    assert 0.5 * 121 - 21.94 - overhead == pytest.approx(34.14, abs=0.01)
    assert 0.4 * 121 - 21.94 - overhead == pytest.approx(22.04, abs=0.01)
    assert pool_bytes(0.5, 121 * GIB) > pool_bytes(0.5)


def test_v12d_two_requests_of_256k_fit_into_the_pool_of_0_4() -> None:
    long = laid(QWEN, {**GUIDE, "max_model_len": 262_144}, speculation=MTP_3)
    assert pytest.approx(8.28, abs=0.01) == 2 * 262_144 * TOKEN_BYTES / GIB
    assert fit(long, pool_bytes(0.4), max_num_seqs=2).all


# -- context and YaRN ---------------------------------------------------------------------------------


def test_v13_v14_factors_stretch_the_native_context() -> None:
    assert 2 * 262_144 == 524_288
    assert 4 * 262_144 == 1_048_576


def test_v15_a_million_tokens_fit_into_the_pool_of_0_4() -> None:
    assert pytest.approx(15.95, abs=0.01) == 1_010_000 * TOKEN_BYTES / GIB
    stretched = laid(QWEN, {**GUIDE, "max_model_len": 1_010_000}, speculation=MTP_3)
    assert fit(stretched, pool_bytes(0.4), max_num_seqs=1).one
    assert stretched.request_bytes < 1_010_000 * TOKEN_BYTES  # the average carries the states of a short request


# -- other figures of memory --------------------------------------------------------------------------


def test_v16_the_share_of_0_55_is_of_all_memory_and_not_of_62_gb() -> None:
    # Inconsistent in the source: 65.8 is of the whole memory, although CUDA is said to see 62 GB of it.
    assert pytest.approx(65.80, abs=0.01) == 0.55 * 119.64
    assert pytest.approx(34.1, abs=0.01) == 0.55 * 62


def test_v16b_the_tokens_of_the_dual_spark_post_fit_no_count_of_its_pool() -> None:
    # Inconsistent in the source: 42.3 GB for 1.6M tokens is neither what 0.19.0 logs nor what later releases log.
    assert pytest.approx(26_437, abs=1) == (65.8 - 23.5) / 1.6e6 * 1e9
    given = {**GUIDE, "max_model_len": 131_072}
    left = round(42.3e9)
    assert laid(QWEN, given, release=(0, 19, 0), speculation=MTP_3._replace(tokens=2)).tokens(left) < 1_000_000
    assert laid(QWEN, given, release=LATEST, speculation=MTP_3._replace(tokens=2)).tokens(left) > 3_000_000


def test_v16c_the_post_names_two_contexts() -> None:
    assert pytest.approx(24.4, abs=0.05) == 1.6e6 / 65_536
    assert pytest.approx(12.2, abs=0.05) == 1.6e6 / 131_072


def test_v17_v18_two_machines_share_the_weights_and_the_smaller_one_counts() -> None:
    options = told({"tensor_parallel_size": 2})
    assert 148 / options.tensor_parallel_size == 74
    smallest = group_bytes({"thinkstation": 119 * GIB, "ascent": 121 * GIB})
    assert smallest == 119 * GIB
    assert smallest // GIB - 74 == 45


def test_v19_a_file_of_the_checkpoint_has_3_2_gib() -> None:
    assert pytest.approx(3.22, abs=0.005) == 148 / 46


def test_v20_the_peak_of_loading_fits_into_121_gib() -> None:
    loading = host(
        121 * GIB,
        services=(Term("weights", 74 * GIB, "DeepSeek-V4 thread L315"),),
        page_cache=Term("page cache while loading", 33 * GIB, "DeepSeek-V4 thread L376"),
    )
    assert loading.headroom_bytes == 14 * GIB
    assert requested_bytes(121 * GIB, 0.85) / GIB == pytest.approx(102.85, abs=0.01)


def test_v20b_v20c_what_122b_leaves_and_saves() -> None:
    assert pytest.approx(52.4, abs=0.01) == 128 - 75.6
    assert pytest.approx(3.10, abs=0.01) == 234 / 75.6


def test_v20d_v20e_kernel_settings_in_their_units() -> None:
    assert 5 * GIB == 5_242_880 * 1024
    assert 3 * GIB == 3_145_728 * 1024
    assert (16 * 512, 256 * 512) == (8192, 131_072)


def test_v20f_313k_tokens_hold_one_request_of_300k_and_not_two() -> None:
    assert pytest.approx(1.04, abs=0.005) == 313_000 / 300_000
    assert pytest.approx(1.57, abs=0.01) == 313_000 / 200_000


def test_v20g_the_longest_context_of_the_thread() -> None:
    assert 6 * 65_536 == 393_216


def test_v20h_the_block_of_mtp_2_is_80_tokens_longer_than_a_batch_of_2048() -> None:
    given = {**GUIDE, "max_model_len": 131_072}
    block = laid(QWEN, given, release=(0, 19, 0), speculation=MTP_3._replace(tokens=2)).block_tokens
    assert block == 2128
    assert block - 2048 == 80
    assert block <= 8192


# -- prefill, first token, decode -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "seconds"), [(3000, 0.5), (6000, 1.0), (64_000, 10), (1_010_000, 162.9)], ids=["3K", "6K", "64K", "1M"]
)
def test_v21_the_first_token_comes_after_the_prompt(tokens: int, seconds: float) -> None:
    assert prefill_seconds(tokens, rates=RATE).low == pytest.approx(seconds, rel=0.05)


@pytest.mark.parametrize(
    ("tokens", "ttft", "rate"),
    [(6019, 0.967, 6225), (3097, 0.502, 6172), (6019, 0.965, 6240), (3098, 0.507, 6115)],
    ids="abcd",
)
def test_v22a_to_v22d_a_rate_gives_its_time_to_first_token(tokens: int, ttft: float, rate: float) -> None:
    assert prefill_seconds(tokens, rates=Range(rate, rate, "")).high == pytest.approx(ttft, rel=0.001)


def test_v22e_bounds_of_a_rate_give_bounds_of_the_time() -> None:
    waited = prefill_seconds(1527, rates=Range(1527 / 0.298, 1527 / 0.235, "Spark guide L253"))
    assert (waited.low, waited.high) == pytest.approx((0.235, 0.298))
    assert pytest.approx(5124, abs=1) == 1527 / 0.298
    assert pytest.approx(6498, abs=1) == 1527 / 0.235


def test_v22f_tokens_a_second_as_time_of_one() -> None:
    assert [round(1000 / rate, 2) for rate in (102, 125, 117, 115)] == [9.80, 8.00, 8.55, 8.70]


def test_v22g_an_acceptance_of_0_8_gives_about_three_tokens_a_step() -> None:
    assert step_tokens(3, 0.8) == pytest.approx(2.952)
    assert abs(step_tokens(3, 0.8) - 3) < abs(1 + 3 * 0.8 - 3)  # 80 % is the chance at each place


@pytest.mark.parametrize(
    ("prompt", "ttft", "answer", "latency", "prefill", "decode", "tolerance"),
    [
        (58, 0.42, 2, 0.53, 140, 23, 0.25),  # two tokens are too few
        (1834, 1.12, 32, 2.47, 1636, 23.7, 0.002),
        (7234, 3.85, 32, 5.26, 1877, 22.7, 0.002),
        (1834, 1.12, 108, 5.74, 1639, 23.4, 0.002),
        (7234, 3.84, 124, 9.26, 1884, 22.9, 0.002),
    ],
    ids=["v23", "v24", "v25", "v26", "v27"],
)
def test_v23_to_v27_rates_of_the_blog_are_tokens_after_the_first(  # noqa: PLR0913, PLR0917  one row of the table
    prompt: int, ttft: float, answer: int, latency: float, prefill: float, decode: float, tolerance: float
) -> None:
    assert prompt / ttft == pytest.approx(prefill, rel=max(tolerance, 0.015 if prompt == 58 else 0))
    assert answer / (latency - ttft) == pytest.approx(decode, rel=tolerance)


def test_v27b_the_first_token_waits_less_than_the_prompt_grows() -> None:
    assert pytest.approx(3.44, abs=0.01) == 3.85 / 1.12
    assert pytest.approx(3.94, abs=0.01) == 7234 / 1834


def test_v28_short_answers_take_a_fifth_to_two_thirds_of_a_second() -> None:
    assert pytest.approx(0.21, abs=0.005) == 5 / 23.7
    assert pytest.approx(0.66, abs=0.005) == 15 / 22.7


def test_v28b_eager_mode_costs_more_than_half() -> None:
    assert pytest.approx(0.559, abs=0.001) == 1 - 26 / 59


# -- scores of benchmarks (DeepSeek-V4 thread), which no code of this package gives ------------------------

ROWS = (0.595, 0.717, 0.79, 0.557, 0.717, 0.655, 0.623, 0.731, 0.652)
"""Accepted share of two drafted tokens, row by row."""
SPEEDS = (23.2, 33.23, 33.61, 14.37, 38.64, 35.44, 14.20, 39.24, 34.75)


def test_v29_to_v30b_scores_are_shares_of_points() -> None:
    assert round(100 * 28 / 30) == 93
    assert [round(100 * points / 6, 1) for points in (6, 4)] == [100, 66.7]
    assert round(0.7 * 93 + 0.3 * 42) == 78
    assert pytest.approx(0.687, abs=0.0005) == 28 / 40.751


def test_v31_both_speeds_of_a_row_differ_by_one_token_of_128() -> None:
    streamed = (23.0, 33.0, 33.4, 14.3, 38.3, 35.2, 14.1, 38.9, 34.5)
    for effective, stream in zip(SPEEDS, streamed, strict=True):
        assert effective * 127 / 128 == pytest.approx(stream, abs=0.06)


def test_v32_drafts_accepted_wasted_and_made() -> None:
    drafted = (21.0, 27.5, 26.3, 13.7, 32.0, 30.5, 12.6, 31.9, 30.4)
    accepted = (1.2, 1.4, 1.6, 1.1, 1.4, 1.3, 1.2, 1.5, 1.3)
    for share, speed, rate, count in zip(ROWS, SPEEDS, drafted, accepted, strict=True):
        assert 2 * share == pytest.approx(count, abs=0.05)
        assert 2 * speed / (1 + 2 * share) == pytest.approx(rate, rel=0.01)


def test_v33_on_average_two_thirds_of_drafts_are_accepted() -> None:
    assert sum(ROWS) / 9 == pytest.approx(0.6708, abs=0.001)
    assert 2 * sum(ROWS) / 9 == pytest.approx(1.34, abs=0.01)


def test_v34_changes_against_a_baseline_are_ratios() -> None:
    assert [round((after / before - 1) * 100, 1) for before, after in ((53.2, 50.7), (56.1, 59.5))] == [-4.7, 6.1]


@pytest.mark.parametrize(
    ("depth", "milliseconds", "rate"),
    [
        (0, 1656.24, 1236.71),
        (4096, 5651.71, 1101.96),
        (8192, 9748.94, 1065.12),
        (16384, 18036.19, 1027.50),
        (32768, 47989.37, 725.51),
        (65536, 106795.86, 636.79),
    ],
)
def test_v35_prompt_and_depth_over_time_give_the_rate(depth: int, milliseconds: float, rate: float) -> None:
    assert (2048 + depth) / milliseconds * 1000 == pytest.approx(rate, rel=0.015)


def test_v35b_first_byte_and_prompt_differ_by_a_constant() -> None:
    assert pytest.approx(123.06) == 1779.30 - 1656.24
    assert pytest.approx(123.06) == 5774.77 - 5651.71


def test_v35c_the_threads_other_tables_are_not_reproducible() -> None:
    # Inconsistent in the source: the same formula misses by up to a tenth.
    assert all(abs(ratio - 1) > 0.005 for ratio in (0.906, 0.901, 1.10, 0.96, 0.93, 0.99, 0.91, 0.90))


# -- figures against each other -----------------------------------------------------------------------------


def test_v36_to_v40_relative_figures() -> None:
    assert pytest.approx(0.1495, abs=0.0005) == 63.8 / 55.5 - 1
    assert pytest.approx(0.022, abs=0.0005) == 56.5 / 55.3 - 1
    assert math.floor(100 * 96 / 108) == 88  # truncated in the source
    assert pytest.approx(2.75) == 33 / 12
    assert pytest.approx(3.58, abs=0.005) == 37.6 / 10.5
    assert [round(ratio, 1) for ratio in (92 / 6, 477 / 26, 1460 / 26)] == [15.3, 18.3, 56.2]


def test_v38_the_table_does_not_show_the_40_percent_of_the_text() -> None:
    # Inconsistent in the source: its own table has changes of -3 to +2 %.
    pairs = ((67.0, 64.7), (57.6, 56.9), (86.1, 88.1), (95.3, 96.4))
    assert [round((after / before - 1) * 100, 1) for before, after in pairs] == [-3.4, -1.2, 2.3, 1.2]


def test_v41_weights_of_148_gib_do_not_fit_one_machine() -> None:
    alone = server(
        "deepseek",
        total_bytes=119 * GIB,
        options=told({"gpu_memory_utilization": 0.85}),
        weights=Term("weights", 148 * GIB, "DeepSeek-V4 thread L315"),
    )
    assert alone.pool.size_bytes == 0
    assert alone.shortage.size_bytes == 151 * GIB - requested_bytes(119 * GIB, 0.85)
