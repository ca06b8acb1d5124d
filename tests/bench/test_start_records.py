"""The recorded start of a run: which speeds a plan may use."""

from __future__ import annotations

import pytest

from sparkiac.bench import starts, summary
from sparkiac.model.bench import BenchRecord, PointRecord
from sparkiac.model.records import StartRecord, StartSubject
from tests.bench.test_noise import record

SUBJECT = StartSubject(model="org/chat", platform="dgx-spark")
LINK = "bench/chat-single.json"


def started(found: BenchRecord) -> StartRecord | None:
    return starts.recorded(SUBJECT, found, LINK)


def changed(**changes: object) -> BenchRecord:
    found = record(1)
    return found.model_copy(update={"points": (found.points[0].model_copy(update=changes),)})


def of_rounds(**changes: object) -> tuple[object, ...]:
    return tuple(each.model_copy(update=changes) for each in record(1).points[0].rounds)


def kinds(found: StartRecord | None) -> list[str]:
    return [each.kind for each in found.speeds] if found else []


def test_one_request_at_a_time_gives_decode_and_prefill() -> None:
    found = started(record(1))
    assert found is not None
    decode, prefill = found.speeds
    spread = summary.requests(record(1).points[0], summary.DECODE)
    assert spread is not None
    assert decode.rate == pytest.approx(spread.median, rel=1e-3)
    assert (decode.kind, decode.context, decode.concurrency, decode.source) == ("decode", 2000, 1, LINK)
    assert decode.low is not None
    assert decode.high is not None
    assert decode.low <= 0.98 * spread.median
    assert decode.high >= 1.02 * spread.median
    assert decode.high / decode.low < 1.3
    assert (prefill.kind, prefill.context) == ("prefill", 2000)
    assert (found.source.grade, found.source.link, found.source.taken) == ("bench", LINK, "2026-11-01T00:00:00Z")


def test_several_requests_give_the_speed_of_all_together() -> None:
    found = started(changed(concurrency=8))
    assert found is not None
    [speed] = found.speeds
    assert (speed.kind, speed.concurrency) == ("aggregate", 8)


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ({"rate": 2.0}, []),
        ({"rounds": of_rounds(others=True)}, []),
        ({"rounds": of_rounds(errors=("HTTP 500",))}, []),
        ({"rounds": of_rounds()[:2]}, []),
        ({"rounds": of_rounds()[:3]}, ["decode", "prefill"]),
        ({"rounds": of_rounds(output_tokens=(8,))}, ["prefill"]),
        ({"rounds": of_rounds(parts=(3,))}, ["prefill"]),
        ({"rounds": of_rounds(grown={"prefix_hits": 500.0, "prefix_queries": 2000.0})}, ["decode"]),
        ({"prompt_tokens": 500}, ["decode"]),
        ({"prompt_tokens": 0}, ["decode", "prefill"]),
    ],
)
def test_only_what_a_plan_can_use_is_recorded(point: dict[str, object], expected: list[str]) -> None:
    assert kinds(started(changed(**point))) == expected


def test_the_acceptance_is_that_of_all_rounds() -> None:
    grown = {"drafts": 100.0, "draft_tokens": 200.0, "accepted_tokens": 150.0}
    found = started(changed(kind="code", rounds=of_rounds(grown=grown)))
    assert found is not None
    assert found.acceptance == 0.75
    assert {(each.acceptance, each.note) for each in found.speeds} == {(0.75, "code")}


def test_a_run_of_another_program_without_samples_has_no_speed() -> None:
    point = PointRecord(name="depth 0", reported={"tg128, tokens/s": 40.0})
    assert started(record(1).model_copy(update={"points": (point,)})) is None
