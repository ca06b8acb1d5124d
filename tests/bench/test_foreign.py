"""Results of other benchmarks."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from sparkiac.bench import client, comparison, foreign
from tests.bench import published
from tests.bench.test_formulas import SPECULATION

SERVE: dict[str, Any] = {
    "date": "20261121-045150", "backend": "openai-chat", "model_id": "tiny", "num_prompts": 3, "request_rate": "inf",
    "max_concurrency": 1, "failed": 0, "total_output_tokens": 12, "median_ttft_ms": 127.4, "median_tpot_ms": 48.5,
    "output_throughput": 66.1,
}  # fmt: skip
"""Keys of a file that `vllm bench serve` of 0.32.0 wrote."""
DETAILS = {"input_lens": [9, 9, 9], "output_lens": [4, 4, 4], "ttfts": [0.1, 0.2, 0.3], "itls": [[0.01] * 3] * 3}
BENCHY = """\
| model | test | t/s | peak t/s | ttfr (ms) | est_ppt (ms) | e2e (ms) |
|---:|---:|---:|---:|---:|---:|---:|
| deepseek-ai/DeepSeek-V4-Flash | pp2048 | 1016.28 ± 24.33 | | 1827.80 ± 56.53 | 1825.30 ± 56.53 |
| deepseek-ai/DeepSeek-V4-Flash | tg128 | 37.95 ± 1.97 | 42.67 ± 0.94 | | | |
| deepseek-ai/DeepSeek-V4-Flash | pp2048 @ d4096 | 1213.82 ± 3.55 | | 4565.25 ± 12.51 | 4562.75 ± 12.51 |
| deepseek-ai/DeepSeek-V4-Flash | tg128 @ d4096 | 34.44 ± 2.38 | 39.33 ± 2.05 | | | |

llama-benchy (0.3.7)
date: 2026-05-27 12:52:56 | latency mode: api
"""
"""A table that a user of two Sparks published."""
BASELINE = (
    ("pp2048", 1236.71, 14.93, 1779.30, 1656.24), ("pp2048 @ d4096", 1101.96, 122.81, 5774.77, 5651.71),
    ("pp2048 @ d8192", 1065.12, 120.22, 9872.00, 9748.94), ("pp2048 @ d16384", 1027.50, 73.63, 18159.25, 18036.19),
    ("pp2048 @ d32768", 725.51, 3.44, 48101.19, 47989.37), ("pp2048 @ d65536", 636.79, 50.89, 106903.34, 106795.86),
    ("tg32", 38.92, 2.36, None, None), ("tg32 @ d4096", 31.70, 4.99, None, None),
    ("tg32 @ d8192", 34.62, 0.92, None, None),
    ("tg32 @ d16384", 31.24, 1.67, None, None), ("tg32 @ d32768", 31.91, 1.81, None, None),
    ("tg32 @ d65536", 29.88, 3.57, None, None),
)  # fmt: skip
"""Another table: test, tokens/s ± standard deviation, TTFR and prompt time in ms."""
WITH_CHANGE = (1233.80, 1183.47, 1145.54, 1010.96, 952.74, 864.59, 38.73, 29.87, 32.35, 32.81, 31.52, 30.92)
DELTAS = (-0.2, 7.4, 7.6, -1.6, 31.3, 35.8, -0.5, -5.8, -6.6, 5.0, -1.2, 3.5)
"""The same tests with a change of vLLM, and the deltas that its author printed."""
EVAL = """\
│ deepseek-ai/DeepSeek-V4-Flash  via vllm @ http://0.0.0.0:8080                                               │
  ● TC-05  Date and Time Parsing           ✅ PASS  2/2  17.7s  ttft=3,671ms t3  Parsed next Monday
  ● TC-06  Multi-Value Extraction          ❌ FAIL  0/2   4.9s  ttft=3,763ms  Did not split the translation
│    Points: 28/30                                                                                            │
│    Quality:        93/100                                                                                   │
│    Responsiveness: 42/100  (median turn: 3.8s)                                                              │
│    Deployability:  78/100  (0.7)                                                                          │
│    Completed in 154.0s  │  tool-eval-bench v1.8.0                                                           │
│    Total: 40,751 tokens  │  Efficiency: 0.7 pts/1K tokens                                                   │
"""


def benchy(rates: tuple[float, ...]) -> str:
    """Return the second table with these rates."""
    lines = []
    for (test, _, sd, *times), rate in zip(BASELINE, rates, strict=True):
        more = " | ".join(f"{time:.2f} ± 1.00" for time in times if time is not None)
        lines.append(f"| {test} | {rate:.2f} ± {sd:.2f} | — | {more} |")
    return "\n".join(lines)


def test_the_averages_of_vllm_bench_serve() -> None:
    record = foreign.read(json.dumps(SERVE))
    [point] = record.points
    assert (record.tool, record.subject.model, point.name, point.rate) == (
        "vllm bench serve",
        "tiny",
        "concurrency 1",
        None,
    )
    assert point.reported == {"TTFT median, ms": 127.4, "TPOT median, ms": 48.5, "throughput, tokens/s": 66.1}
    assert point.rounds == ()


def test_the_requests_of_a_detailed_result_are_samples() -> None:
    [point] = foreign.read(json.dumps(SERVE | DETAILS)).points
    assert [each.ttft_s for each in point.rounds] == [(0.1,), (0.2,), (0.3,)]
    assert [each.total_s[0] for each in point.rounds] == pytest.approx([0.13, 0.23, 0.33])
    [point] = foreign.read(json.dumps(SERVE | DETAILS | {"max_concurrency": 4})).points
    assert point.rounds == ()  # concurrent requests are not independent samples


def test_the_table_of_llama_benchy() -> None:
    record = foreign.read(BENCHY)
    assert record.tool == "llama-benchy 0.3.7, latency mode api"
    assert record.subject.model == "deepseek-ai/DeepSeek-V4-Flash"
    assert [point.name for point in record.points] == ["depth 0", "depth 4096"]
    assert record.points[1].reported == {
        "pp2048, tokens/s": 1213.82, "pp2048 standard deviation, tokens/s": 3.55, "TTFR, ms": 4565.25,
        "prompt time, ms": 4562.75, "tg128, tokens/s": 34.44, "tg128 standard deviation, tokens/s": 2.38,
    }  # fmt: skip


def test_tables_of_two_latency_modes_are_distinguished() -> None:
    other = foreign.read(BENCHY.replace("latency mode: api", "latency mode: generation"))
    assert comparison.compare(foreign.read(BENCHY), other).differences == (
        "tool: llama-benchy 0.3.7, latency mode api → llama-benchy 0.3.7, latency mode generation",
    )


def test_the_rate_of_llama_benchy_counts_the_depth() -> None:
    """Its rate is a mean of ratios, so it differs from the ratio of the means by up to 1.6 %."""
    record = foreign.read(benchy(tuple(row[1] for row in BASELINE)))
    for point in record.points:
        depth = int(point.name.split()[1])
        computed = client.prefill_speed(2048 + depth, point.reported["prompt time, ms"] / 1000)
        assert computed == pytest.approx(point.reported["pp2048, tokens/s"], rel=0.016)
        assert 107 < point.reported["TTFR, ms"] - point.reported["prompt time, ms"] < 124  # v35b: its own latency


def test_the_deltas_of_a_change_and_that_averages_prove_nothing() -> None:
    before = foreign.read(benchy(tuple(row[1] for row in BASELINE)))
    after = foreign.read(benchy(WITH_CHANGE))
    found = comparison.compare(before, after)
    rows = [row for row in found.rows if row.quantity in {"pp2048, tokens/s", "tg32, tokens/s"}]
    changes = {(row.point, row.quantity[:2]): row.change for row in rows}
    depths = ("0", "4096", "8192", "16384", "32768", "65536")
    order = [(f"depth {depth}", kind) for kind in ("pp", "tg") for depth in depths]
    assert [published.half_up(100 * changes[each], 1) for each in order] == pytest.approx(list(DELTAS), abs=0.11)
    assert {row.verdict for row in rows} == {comparison.CANNOT_TELL}
    assert {row.p for row in rows} == {None}


def test_the_scores_of_tool_eval_bench() -> None:
    record = foreign.read(EVAL)
    assert (record.tool, record.mode, record.subject.model) == (
        *("tool-eval-bench 1.8.0", "tools"), "deepseek-ai/DeepSeek-V4-Flash",
    )  # fmt: skip
    assert [(case.name, case.passed, case.fault) for case in record.tools] == [
        ("TC-05 Date and Time Parsing", (True,), None),
        ("TC-06 Multi-Value Extraction", (False,), "0/2"),
    ]
    [scores] = record.points
    values = scores.reported
    assert published.half_up(published.score(values["points"], values["most points"])) == values["quality"]
    combined = published.deployability(values["quality"], values["responsiveness"])
    assert published.half_up(combined) == values["deployability"]


def test_the_speculation_table_of_tool_eval_bench() -> None:
    lines = []
    for kind, depth, alpha, effective, _, tau, waste, draft, ttft, total in SPECULATION:
        shown = f"{depth // 1024}K" if depth else "0"
        cells = (kind, shown, effective, f"{alpha}%", f"{waste}%", tau, 2, draft, ttft, f"{total:,}")
        lines.append(f"│ {' │ '.join(map(str, cells))} │")
    record = foreign.read("\n".join(lines))
    assert record.mode == "speculation"
    assert [point.name for point in record.points][3] == "filler, depth 4096"
    assert record.points[8].reported["acceptance, %"] == 65.2
    assert record.points[8].reported["latency, ms"] == 3689


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hello", "not a record of sparkiac"),
        ("{", "not JSON"),
        ("{}", "mode: Field required"),
        ('{"format": "sparkiac bench 2"}', "format: Input should be 'sparkiac bench 1'"),
    ],
)
def test_what_is_not_a_record(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}"):
        foreign.read(text)
