"""Predictions beside the starts of real servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac.catalog import measurements
from sparkiac.memory import options, overhead
from sparkiac.memory.options import ServerOptions
from sparkiac.memory.overhead import Device
from sparkiac.memory.values import GIB
from sparkiac.model.inventory import Measured
from tests.memory.starts import STARTS, Start

if TYPE_CHECKING:
    from sparkiac.model.records import StartRecord

each_start = pytest.mark.parametrize("start", STARTS, ids=lambda start: start.name)


@each_start
def test_a_pool_is_never_predicted_more_than_1_percent_too_large(start: Start) -> None:
    assert start.predicted.shortage.size_bytes == 0
    assert -0.03 <= start.error <= 0.01


@each_start
def test_graphs_are_outside_of_the_request_where_the_log_has_them_there(start: Start) -> None:
    outside = [term.name for term in start.predicted.outside]
    assert [name for name in outside if name != "NCCL"] == ([] if start.graphs is None else ["CUDA graphs"])


@pytest.mark.parametrize("start", [each for each in STARTS if each.tokens], ids=lambda start: start.name)
def test_the_tokens_of_the_logged_pool_are_those_of_the_log(start: Start) -> None:
    assert start.layout.tokens(round(start.pool * GIB)) == pytest.approx(start.tokens, rel=5e-4)


@each_start
def test_a_start_that_was_measured_is_predicted_with_its_graphs_on_top(start: Start) -> None:
    """The second start of a server takes the request and, where they are no part of it, the measured graphs."""
    graphs = None if start.graphs is None else round(start.graphs * GIB)
    measured = Measured(
        weights_bytes=round(start.weights * GIB), overhead_bytes=round(start.overhead * GIB), graphs_bytes=graphs
    )
    found = start.repeated(measured)
    assert (found.pool.size_bytes or 0) / GIB == pytest.approx(start.pool, abs=0.03)
    taken = [term.size_bytes for term in found.taken[1:] if term.name != "NCCL"]
    assert taken == ([] if graphs is None else [graphs])


MODELS = ("Qwen3-8B", "Llama", "Qwen3-30B", "Qwen3-Next", "Nemotron", "DeepSeek", "gpt-oss", "Gemma-3")


@pytest.mark.parametrize("model", MODELS)
def test_the_constants_without_the_starts_of_a_model_predict_its_pools(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fit non-torch memory and graphs from the other models' starts, and predict those that were left out."""
    records = [each for each in measurements.records() if each.subject.platform == "h100-80gb"]
    others = [each for each in records if model.lower() not in each.subject.model.lower()]
    assert 0 < len(others) < len(records)
    non_torch = max(each.terms.non_torch_bytes or 0 for each in others)
    graphs = [_graphs(each) for each in others if each.runner == 1]
    monkeypatch.setattr(overhead, "_GRAPHS_BYTES", 0)
    monkeypatch.setattr(overhead, "_GRAPH_BYTES", max(size // count for size, count in graphs))
    left_out = [start for start in STARTS if start.name.startswith(model)]
    assert left_out
    for start in left_out:
        found = start.repeated(None, device=Device(non_torch, "the other starts"))
        assert -0.03 <= (found.pool.size_bytes or 0) / GIB / start.pool - 1 <= 0.01


def _graphs(record: StartRecord) -> tuple[int, int]:
    read = options.read(record.subject.options, release=(0, 23, 0), gpu_bytes=80 * GIB)
    assert isinstance(read, ServerOptions)
    return record.terms.graphs_estimate_bytes or 0, read.graph_sizes


@pytest.mark.parametrize(
    ("term", "spread"), [("activations", overhead.ACTIVATIONS_SPREAD), ("CUDA graphs", overhead.GRAPHS_SPREAD)]
)
def test_the_spread_of_a_term_is_that_of_the_recorded_starts(term: str, spread: tuple[float, float]) -> None:
    shares = [_share(start, term) for start in STARTS if "Spark" not in start.name]
    assert len(shares) == 12
    assert spread[0] <= min(shares) < spread[0] + 0.02
    assert spread[1] - 0.02 < max(shares) <= spread[1]


def _share(start: Start, term: str) -> float:
    """Return the recorded size of a term as a share of the predicted one."""
    [record] = [each for each in measurements.records() if _pool(each) == start.pool and _is_h100(each)]
    [found] = [each for each in (*start.predicted.inside, *start.predicted.outside) if each.name == term]
    graphs = record.terms.graphs_bytes if start.graphs is not None else record.terms.graphs_estimate_bytes
    size = {"activations": record.terms.activations_bytes, "CUDA graphs": graphs}[term]
    assert size is not None
    assert found.size_bytes
    assert (found.low_bytes or 0) <= size <= (found.high_bytes or 0)
    return size / found.size_bytes


def _is_h100(record: StartRecord) -> bool:
    return record.subject.platform == "h100-80gb"


def _pool(record: StartRecord) -> float:
    return round((record.terms.pool_bytes or 0) / GIB, 2)


@each_start
def test_the_logged_pool_is_within_the_range_of_the_predicted_one(start: Start) -> None:
    pool = start.predicted.pool
    assert (pool.low_bytes or 0) <= round(start.pool * GIB) <= (pool.high_bytes or 0)
