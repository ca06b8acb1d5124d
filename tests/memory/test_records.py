"""The form of a recorded start."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from sparkiac.catalog import measurements
from sparkiac.memory import recorded
from sparkiac.memory.overhead import UNIFIED
from sparkiac.memory.speed import Range
from sparkiac.memory.values import GIB
from sparkiac.model.records import StartRecord
from sparkiac.plan import start_records
from tests.memory.known import QWEN, network

LEAST = {
    "subject": {"model": "Qwen/Qwen3-8B", "platform": "dgx-spark"},
    "source": {"grade": "log", "link": "start.log"},
}


def test_figures_that_a_source_does_not_state_are_unknown() -> None:
    found = StartRecord.model_validate(LEAST)
    assert found.terms.pool_bytes is None
    assert found.cached.tokens is None
    assert found.speeds == ()


@pytest.mark.parametrize("wrong", [{"pool": 3}, {"format": "sparkiac start 2"}, {"runner": 3}])
def test_another_form_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        StartRecord.model_validate({**LEAST, **wrong})


def test_a_record_is_read_as_it_was_written() -> None:
    record = StartRecord.model_validate(
        {**LEAST, "terms": {"pool_bytes": 5}, "speeds": [{"kind": "decode", "rate": 12.5, "context": 256}]},
        strict=False,
    )
    assert StartRecord.model_validate_json(record.model_dump_json(exclude_defaults=True)) == record


# -- what a record says about the next start -------------------------------------------------------------------


def record(**changes: object) -> StartRecord:
    found = {
        "subject": {
            "model": "m",
            "digest": f"sha256:{'1' * 64}",
            "commit": "2" * 40,
            "platform": "dgx-spark",
            "options": {"gpu_memory_utilization": 0.5},
        },
        "terms": {"visible_bytes": 100 * GIB, "weights_bytes": 20 * GIB, "pool_bytes": 27 * GIB},
        "cached": {"tokens": 1000, "context": 100},
        "speeds": [{"kind": "decode", "rate": 50.0, "context": 1000}, {"kind": "prefill", "rate": 2000.0}],
        "source": {"grade": "log", "link": "start.log"},
    }
    return StartRecord.model_validate_json(json.dumps({**found, **changes}))


def test_the_same_server_has_no_differences() -> None:
    assert recorded.differences(record(), record().subject) == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"digest": f"sha256:{'3' * 64}"}, "image is sha256:1"),
        ({"digest": None}, "image is sha256:1"),
        ({"commit": "4" * 40}, "commit is 2"),
        ({"platform": "pc"}, "platform is dgx-spark in the record and pc in the plan"),
        ({"hosts": 2}, "hosts is 1 in the record and 2 in the plan"),
        ({"options": {"gpu_memory_utilization": 0.6}}, "gpu_memory_utilization is 0.5"),
        ({"options": {"gpu_memory_utilization": 0.5, "max_num_seqs": 4}}, "max_num_seqs is not recorded in the record"),
    ],
)
def test_another_server_is_named_by_what_differs(changes: dict[str, object], words: str) -> None:
    subject = record().subject
    [found] = recorded.differences(record(), subject.model_copy(update=changes))
    assert found.startswith(words)


def test_a_server_without_pins_is_never_the_same() -> None:
    bare = record(subject={"model": "m", "platform": "dgx-spark"})
    assert recorded.differences(bare, bare.subject) != ()


def test_the_overhead_is_what_the_request_has_besides() -> None:
    assert recorded.requested_bytes(record()) == 50 * GIB
    assert recorded.overhead_bytes(record()) == 3 * GIB
    assert recorded.overhead_bytes(record(terms={"weights_bytes": 5})) is None
    found = recorded.calibration(record(), drafter_bytes=GIB)
    assert (found.weights_bytes, found.overhead_bytes, found.pool_bytes) == (19 * GIB, 3 * GIB, 27 * GIB)


def test_a_start_of_the_same_model_corrects_what_is_outside_of_pytorch() -> None:
    [guide] = [each for each in measurements.records() if "L345" in each.source.link]
    found = recorded.corrected(UNIFIED, guide, shape=network(QWEN), release=(0, 22, 0))
    assert 0.5 * GIB < found.non_torch_bytes < 1.5 * GIB
    assert "Spark guide L345-348" in found.source
    assert recorded.corrected(UNIFIED, record(terms={}), shape=network(QWEN), release=(0, 22, 0)) == UNIFIED


def test_a_measured_speed_is_narrow_and_is_scaled_to_other_contexts() -> None:
    expected = {1000: Range(20, 80, ""), 5000: Range(10, 40, "")}
    near = recorded.decode(record(), context=1000, expected=expected[1000], at=expected)
    far = recorded.decode(record(), context=5000, expected=expected[5000], at=expected)
    assert near == Range(pytest.approx(47.5), pytest.approx(52.5), "measured: start.log")
    assert far == Range(pytest.approx(23.75), pytest.approx(26.25), "measured: start.log")
    assert recorded.decode(record(speeds=[]), context=1, expected=expected[1000], at={}) is None


def test_kinds_of_text_are_one_range_and_name_their_benches() -> None:
    speeds = [
        {"kind": "decode", "rate": 60.0, "low": 58.0, "high": 62.0, "context": 500, "note": "code", "source": "a.json"},
        {"kind": "decode", "rate": 40.0, "low": 39.0, "high": 41.0, "context": 500, "source": "b.json"},
        {"kind": "decode", "rate": 30.0, "context": 9000},
        {"kind": "aggregate", "rate": 300.0, "context": 500, "concurrency": 8},
    ]
    found = record(speeds=speeds)
    assert recorded.decodes(found) == (
        (500, Range(39, 62, "measured: a.json, b.json")),
        (9000, Range(pytest.approx(28.5), pytest.approx(31.5), "measured: start.log")),
    )
    near = recorded.decode(found, context=1000, expected=Range(20, 80, ""), at={500: Range(20, 80, "")})
    assert near == Range(39, 62, "measured: a.json, b.json")


def test_measured_prefill_rates_become_a_range() -> None:
    found = recorded.prefill(record())
    assert found is not None
    assert (found.low, found.high) == (2000.0, 2000.0)
    assert recorded.prefill(record(speeds=[])) is None


def test_speeds_of_two_records_are_joined_and_the_newer_of_the_same_quantity_counts() -> None:
    bench = {"grade": "bench", "link": "bench/b.json"}
    newer = {"kind": "decode", "rate": 55.0, "context": 1000, "source": "bench/b.json"}
    wide = {"kind": "aggregate", "rate": 300.0, "context": 1000, "concurrency": 8}
    first, second = record(), record(terms={}, cached={}, speeds=[newer, wide], source=bench)
    found = start_records.merged(first, second)
    assert [each.rate for each in found.speeds] == [55.0, 2000.0, 300.0]
    assert (found.terms, found.source.link) == (first.terms, "start.log")
    assert start_records.merged(second, first).source.link == "start.log"


def test_an_equal_record_without_memory_figures_does_not_hide_one_that_has_them() -> None:
    speeds = [{"kind": "decode", "rate": 55.0, "context": 1000}]
    listed = [record(), record(terms={}, cached={}, speeds=speeds, source={"grade": "bench", "link": "b.json"})]
    for records in (listed, listed[::-1]):
        exact = start_records.starts(record().subject, records).exact
        assert exact is not None
        assert (exact.terms, exact.cached.tokens) == (record().terms, 1000)


def test_two_records_of_one_server_are_one() -> None:
    first, second = record(), record(terms={"host_bytes": 7}, speeds=[], cached={}, acceptance=0.7)
    found = start_records.merged(first, second)
    assert (found.terms.host_bytes, found.terms.pool_bytes) == (7, 27 * GIB)
    assert (found.speeds, found.acceptance, found.cached.tokens) == (first.speeds, 0.7, 1000)
    other = record(subject={"model": "n", "platform": "dgx-spark"})
    assert start_records.merged(first, other) == other
    assert StartRecord.model_validate_json(start_records.text(found)) == found


def nearest(**subject: object) -> StartRecord | None:
    """Return the recorded start of the catalog that counts for a server without a start of its own."""
    wanted = record(subject={"model": "nvidia/Qwen3.6-35B-A3B-NVFP4", "platform": "dgx-spark", **subject}).subject
    return start_records.starts(wanted, ()).near


@pytest.mark.parametrize("method", ["dflash", "mtp"])
def test_a_start_with_the_same_way_of_drafting_counts_first(method: str) -> None:
    found = nearest(drafts={"method": method, "tokens": 2})
    assert found is not None
    assert found.subject.drafts is not None
    assert found.subject.drafts.method == method


def test_a_start_on_another_number_of_hosts_does_not_count() -> None:
    assert nearest() is not None
    assert nearest(hosts=2) is None
