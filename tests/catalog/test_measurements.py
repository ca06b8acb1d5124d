"""Recorded starts of the catalog: complete, with a source each, and consistent in themselves."""

from __future__ import annotations

import pytest

from sparkiac.catalog import measurements
from sparkiac.memory import recorded
from sparkiac.memory.values import GIB
from sparkiac.model.records import MEMORY_OPTIONS, Cached, StartRecord
from tests.every import every

RECORDS = measurements.records()
each_record = every(RECORDS, name=lambda record: f"{record.subject.model}, {record.source.link}")


def test_there_are_many_and_most_are_of_dgx_spark() -> None:
    sparks = [each for each in RECORDS if each.subject.platform == "dgx-spark"]
    assert len(RECORDS) >= 40
    assert len(sparks) > len(RECORDS) / 2


@each_record
def test_a_record_says_something_and_where_it_is_from(record: StartRecord) -> None:
    assert record.source.link
    assert record.speeds or record.terms.pool_bytes or record.terms.weights_bytes or record.cached != Cached()
    assert record.subject.options.keys() <= set(MEMORY_OPTIONS)


@each_record
def test_the_terms_of_a_record_add_up(record: StartRecord) -> None:
    terms = record.terms
    parts = (terms.weights_bytes, terms.activations_bytes, terms.non_torch_bytes, terms.graphs_estimate_bytes)
    took = recorded.overhead_bytes(record)
    if took is None or None in parts:
        return
    known = [size for size in parts[1:] if size is not None]
    assert sum(known) == pytest.approx(took, abs=0.05 * GIB)


def test_the_records_of_a_model_are_found() -> None:
    found = measurements.of_model("nvidia/Qwen3.6-35B-A3B-NVFP4", "dgx-spark")
    assert [each.terms.pool_bytes for each in found] == [round(71.59 * GIB), round(76.49 * GIB)]
    assert measurements.of_model("nvidia/Qwen3.6-35B-A3B-NVFP4", "pc") == ()


def test_each_record_is_in_the_folder_of_its_model() -> None:
    for record in RECORDS:
        subject = record.subject
        assert record in measurements.of_model(subject.model, subject.platform)


def test_a_model_without_records_reads_no_folder() -> None:
    assert measurements.of_model("..", "dgx-spark") == ()
