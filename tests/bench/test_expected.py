"""A measured decode speed is compared with what the plan expects at the measured context, and with nothing else."""

from __future__ import annotations

import pytest

from sparkiac import pipeline
from sparkiac.bench import summary, target
from sparkiac.model.bench import BenchRecord, BenchSubject, Expected, PointRecord, RoundRecord
from sparkiac.words import bench as words
from tests.plan.fleets import SPARK

PLAN = (
    Expected(what="decode after 1024 tokens", value="", source="plan: x", low=50, high=100, context=1024),
    Expected(what="decode after 65536 tokens", value="", source="plan: x", low=10, high=20, context=65_536),
    Expected(what="decode", value="42 tokens/s", source="a guide"),
)


def record(prompt: int, expected: tuple[Expected, ...], *, mode: str = "single") -> BenchRecord:
    """Return a run that measured 80 tokens/s after a prompt."""
    found = RoundRecord(
        seconds=1,
        prompt_tokens=(prompt,),
        output_tokens=(81,),
        ttft_s=(0.5,),
        total_s=(1.5,),
        gap_s=(0,),
        parts=(81,),
        reasoning_parts=(0,),
    )
    point = PointRecord(name="single", prompt_tokens=prompt, output_tokens=81, rounds=(found,))
    return BenchRecord(
        mode=mode, tool="t", taken="", subject=BenchSubject(url="", model="m"), points=(point,), expected=expected
    )


def verdicts(of: BenchRecord) -> dict[str, str]:
    """Return the verdict of each row of the table of expectations."""
    [table] = [each for each in words.tables(of) if each.heads[0] == "expected"]
    return {row[0]: row[2] for row in table.rows}


def test_the_prediction_at_the_measured_context_is_added_and_compared() -> None:
    expected = target.expected_at(PLAN, 300)
    assert expected[1:] == PLAN
    assert (expected[0].what, expected[0].source) == ("decode after 300 tokens", "plan: x")
    assert expected[0].value == "52.4 to 104.7 tokens/s"
    assert verdicts(record(300, expected)) == {
        "decode after 300 tokens": "measured 80: inside",
        "decode after 1024 tokens": "",
        "decode after 65536 tokens": "",
        "decode": "",
    }


def test_a_prediction_at_a_context_that_the_plan_has_is_compared_as_it_is() -> None:
    assert target.expected_at(PLAN, 65_536) == PLAN
    assert verdicts(record(65_536, PLAN))["decode after 65536 tokens"] == "measured 80: outside"


@pytest.mark.parametrize(
    "expected", [PLAN, (Expected(what="decode after 1024 tokens", value="", source="", low=1, high=99),)]
)
def test_without_a_prediction_at_the_measured_context_there_is_no_verdict(expected: tuple[Expected, ...]) -> None:
    """Records of earlier versions do not have the context of an expectation."""
    assert target.expected_at(expected, 70_000) == expected
    assert set(verdicts(record(70_000, expected)).values()) == {""}


def test_only_a_run_of_one_request_is_compared() -> None:
    assert set(verdicts(record(1024, PLAN, mode="depth")).values()) == {""}


def test_a_prompt_has_the_requested_tokens_or_those_that_were_counted() -> None:
    [point] = record(300, ()).points
    assert summary.prompt(point) == summary.prompt(point.model_copy(update={"prompt_tokens": 0})) == 300


def test_a_measured_stall_is_compared_with_the_one_of_the_plan() -> None:
    [point] = record(128, (), mode="stall").points
    waited = point.rounds[0].model_copy(update={"gap_s": (2.5,)})
    stalled = point.model_copy(update={"name": "stall by 16384", "long_tokens": 16_384, "rounds": (waited,)})
    expected = Expected(what="wait while chunks are read", value="2 to 3 s", source="plan: x", low=2, high=3)
    run = record(128, (*PLAN, expected), mode="stall").model_copy(update={"points": (stalled,)})
    assert verdicts(run)["wait while chunks are read"] == "measured 2.5: inside"
    assert verdicts(run)["decode after 1024 tokens"] == ""
    assert summary.quantities(stalled) == (summary.STALL,)


def test_the_plan_expects_a_stall() -> None:
    served = "{recipe: nvidia/qwen3.6-35b-a3b-nvfp4, hosts: spark-01}"
    text = f"name: lab\ndefaults: {{model_store: /srv/models}}\nhosts:\n  {SPARK}\ndeployments:\n  chat: {served}\n"
    plan = pipeline.check(pipeline.InputFile("lab.yaml", text.encode()), None, allow_unlocked=True).plan
    assert plan is not None
    [host] = plan.hosts
    [wait] = [each for each in target.expected(host, host.containers[0]) if each.what.startswith("wait")]
    assert (wait.what, wait.low, wait.high) == ("wait while chunks of 8192 tokens are read", 1.31, 1.34)
