"""Prompts, points, counters, tool calls and phases."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sparkiac.bench import counters, points, tool_calls
from sparkiac.bench.points import CALIBRATION, KINDS, Kind, Point, Prompts, Sizes, length
from sparkiac.bench.starts import phases

PAGE = """\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 1.0
vllm:num_requests_running{engine="1",model_name="m"} 2.0
vllm:num_requests_waiting{engine="0",model_name="m"} 4.0
vllm:generation_tokens_total{engine="0",model_name="m"} 1e+03
vllm:spec_decode_num_drafts_total{engine="0"} 100.0
vllm:spec_decode_num_draft_tokens_total{engine="0"} 200.0
vllm:spec_decode_num_accepted_tokens_total{engine="0"} 119.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 80.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="1"} 39.0
odd_metric NaN-ish
"""
LOG = """\
(APIServer pid=1) INFO 12-31 23:59:00 [utils.py:1] non-default args: {'model': 'x'}
(EngineCore pid=2) INFO 12-31 23:59:05 [core.py:9] Initializing a V1 LLM engine (v0.23.0) with config: ...
RuntimeError: out of memory
(APIServer pid=1) INFO 12-31 23:59:10 [utils.py:1] non-default args: {'model': 'x'}
(EngineCore pid=2) INFO 12-31 23:59:40 [core.py:9] Initializing a V1 LLM engine (v0.23.0) with config: ...
(EngineCore pid=2) INFO 01-01 00:00:10 [gpu_model_runner.py:1] Model loading took 15.27 GiB and 29.600849 seconds
(EngineCore pid=2) INFO 01-01 00:00:40 [monitor.py:53] torch.compile took 21.5 s in total
(EngineCore pid=2) INFO 01-01 00:00:50 [gpu_model_runner.py:2] Graph capturing finished in 5 secs, took 0.23 GiB
(EngineCore pid=2) INFO 01-01 00:00:51 [core.py:3] init engine (profile, create kv cache, warmup model) took 41.04 s
(APIServer pid=1) INFO 01-01 00:00:53 [api_server.py:5] Starting vLLM server on http://127.0.0.1:8102
(APIServer pid=1) INFO:     Application startup complete.
(APIServer pid=1) INFO 01-01 00:09:53 [api_server.py:5] a request
"""


def test_prompts_are_unique_and_of_the_requested_length() -> None:
    source = Prompts("seed")
    for kind in KINDS:
        texts = [source.text(kind, 50) for _ in range(20)]
        assert len({text[:10] for text in texts}) == 20
        assert Prompts("seed").text(kind, 5) == Prompts("seed").text(kind, 5)
        assert Prompts("other").text(kind, 5) != Prompts("seed").text(kind, 5)
    few, many = CALIBRATION
    counted = length((14 + 2 * few, 14 + 2 * many))  # two tokens for each unit, and 14 around them
    assert (counted.base, counted.per_unit) == (14, 2)
    assert counted.units(2014) == 1000
    assert counted.units(3) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_prompts_have_the_requested_length_although_words_have_different_numbers_of_tokens(kind: Kind) -> None:
    """A stand-in for a tokenizer that knows no word: each character is a token."""
    source = Prompts("seed")
    few, many = (len(source.text(kind, units)) for units in CALIBRATION)
    units = length((few, many)).units(20_000)
    assert all(abs(len(source.text(kind, units)) - 20_000) < 200 for _ in range(20))


def test_the_points_of_each_mode() -> None:
    assert points.points("single") == (Point("single", 2000, 256),)
    assert [each.prompt_tokens for each in points.points("scenarios")] == [58, 1834, 7234, 1834, 7234]
    assert [each.output_tokens for each in points.points("scenarios")] == [2, 32, 32, 108, 124]
    sweep = points.points("sweep", Sizes(100, 10), (1, 4))
    assert [(each.concurrency, each.requests, each.prompt_tokens) for each in sweep] == [(1, 4, 100), (4, 8, 100)]
    assert [each.rate for each in points.points("rate", levels=(0.5, 2))] == [0.5, 2]
    assert [each.prompt_tokens for each in points.points("depth", levels=(0, 4096))] == [2048, 6144]
    kinds: list[Kind] = ["code", "structured", "filler"]
    assert [each.kind for each in points.points("speculation")] == kinds


def test_what_does_not_fit_into_the_context_is_left_out() -> None:
    fits, notes = points.fitting(points.points("scenarios"), 4096)
    assert [each.name for each in fits] == [
        "typical judge call",
        "medium prompt, short answer",
        "medium prompt, long answer",
    ]
    assert notes[0] == "long prompt, short answer left out: 7483 tokens, max_model_len is 4096"
    assert points.fitting(fits, None) == (fits, ())


def test_the_knee_is_where_more_load_adds_little() -> None:
    assert points.knee([(1, 10), (2, 19), (4, 36), (8, 39), (16, 39.5)]) == 4
    assert points.knee([]) is None


def test_counters_of_a_page() -> None:
    found = counters.parse(PAGE, "vllm")
    assert found is not None
    assert found.busy == 7
    assert found.values["generated_tokens"] == 1000
    assert counters.parse(PAGE, None) == found
    assert counters.parse(PAGE, "sglang") is None
    grown = found.since(counters.Counters({"generated_tokens": 900.0, "running": 1.0}, {0: 70.0}))
    assert (grown.values["generated_tokens"], grown.values["running"], grown.positions) == (100, 3, {0: 10, 1: 39})
    assert counters.Counters({}, {}).busy is None


def test_speculation_from_counters() -> None:
    """119 of 200 drafted tokens: the first row of tool-eval-bench's table."""
    grown = counters.parse(PAGE, "vllm")
    assert grown is not None
    found = counters.speculation(grown)
    assert found is not None
    assert (found.acceptance, found.waste) == pytest.approx((0.595, 0.405))
    assert (found.draft_length, found.accepted_length) == pytest.approx((2, 1.19))
    assert found.per_position == pytest.approx((0.8, 0.39))
    assert counters.speculation(counters.Counters({"drafts": 0.0}, {})) is None


def test_the_phases_of_the_last_complete_start() -> None:
    found = {phase.name: phase.seconds for phase in phases(LOG)}
    assert found == {
        "imports and configuration": 30,
        "weights": 30,
        "compilation": 21.5,
        "CUDA graphs": 5,
        "profiling, KV cache and warm-up": 14.5,
        "API server": 2,
    }
    assert sum(found.values()) == 103  # from the first line to the server, over the end of a year
    assert phases("") == phases(LOG.splitlines()[0]) == phases(LOG.partition("init engine")[0]) == ()


def called(*calls: tuple[str, object], content: str | None = None) -> dict[str, Any]:
    listed = [{"function": {"name": name, "arguments": arguments}} for name, arguments in calls]
    return {"content": content, "tool_calls": listed}


CASES = {case.name: case for case in tool_calls.CASES}
PARIS = json.dumps({"city": "Paris"})


@pytest.mark.parametrize(
    ("name", "message", "fault"),
    [
        ("direct", called(("get_time", PARIS)), None),
        ("direct", called(("get_weather", PARIS)), "another tool than get_time was called"),
        ("direct", called(), "0 calls, expected 1"),
        ("direct", called(("get_time", PARIS), ("get_time", PARIS)), "2 calls, expected 1"),
        ("direct", called(("get_time", "{")), "the arguments are not JSON"),
        ("direct", called(("get_time", None)), "the arguments are not JSON"),
        ("direct", called(("get_time", "[]")), "the arguments are not an object"),
        ("direct", called(("get_time", '{"city": "Rome"}')), "argument city of get_time is wrong"),
        ("direct", called(("get_time", '{"city": 5}')), "argument city of get_time is wrong"),
        ("number", called(("convert_money", '{"amount": 250.0, "source": "EUR", "target": "JPY"}')), None),
        ("number", called(("convert_money", '{"amount": "250", "source": "EUR", "target": "JPY"}')),
         "argument amount of convert_money is wrong"),
        ("hour", called(("add_reminder", '{"text": "Water the plants", "hour": 18}')), None),
        ("hour", called(("add_reminder", '{"text": "Water the plants", "hour": true}')),
         "argument hour of add_reminder is wrong"),
        ("two calls", called(("get_time", '{"city": "Oslo"}'), ("get_time", '{"city": "Lima"}')), None),
        ("no tool needed", called(content="cold"), None),
        ("no tool fits", called(("add_reminder", "{}")), "1 calls, expected 0"),
        ("use the result", called(content="It is 14:37 there."), None),
        ("use the result", called(content="I do not know."), "the answer does not contain the result of the call"),
        ("use the result", called(("get_time", PARIS)), "1 calls, expected 0"),
    ],
)  # fmt: skip
def test_what_a_tool_call_must_be(name: str, message: dict[str, Any], fault: str | None) -> None:
    assert tool_calls.fault(CASES[name], message) == fault


def test_repetitions_of_a_case_are_collected() -> None:
    [case] = tool_calls.collected([("a", None), ("a", "late"), ("a", None)])
    assert (case.passed, case.fault) == ((True, False, True), "late")
