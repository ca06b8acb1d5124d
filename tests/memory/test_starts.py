"""Predictions beside the starts of real servers."""

from __future__ import annotations

import pytest

from sparkiac.memory import overhead
from sparkiac.memory.values import GIB
from sparkiac.model.inventory import Measured
from tests.conftest import ROOT
from tests.memory import left_out
from tests.memory.left_out import H100
from tests.memory.starts import DISCRETE, STARTS, Start

each_start = pytest.mark.parametrize("start", STARTS, ids=lambda start: start.name)


@each_start
def test_a_pool_is_within_3_percent_and_never_predicted_2_percent_too_large(start: Start) -> None:
    assert start.predicted.shortage.size_bytes == 0
    assert -0.03 <= start.error <= 0.02


@each_start
def test_graphs_are_outside_of_the_request_where_the_log_has_them_there(start: Start) -> None:
    outside = [term.name for term in start.predicted.outside]
    assert ("CUDA graphs" in outside) is (start.graphs is not None)


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
    taken = [term.size_bytes for term in found.taken[1:] if term.name not in {"NCCL", "encoder"}]
    assert taken == ([] if graphs is None else [graphs])


@each_start
def test_the_logged_pool_is_within_the_range_of_the_predicted_one(start: Start) -> None:
    pool = start.predicted.pool
    assert (pool.low_bytes or 0) <= round(start.pool * GIB) <= (pool.high_bytes or 0)


@pytest.mark.parametrize("start", H100, ids=lambda start: start.name)
def test_the_starts_of_other_models_predict_a_pool(start: Start) -> None:
    found = left_out.left_out(start)
    assert found.inside
    assert -0.05 <= found.error <= 0.02


def test_the_shipped_constants_are_those_of_all_starts() -> None:
    found = left_out.fitted(H100)
    assert len(H100) == 18
    assert found.graph_bytes == overhead.GRAPH_BYTES
    assert found.device[2:4] == pytest.approx(DISCRETE[2:4], rel=0.05)
    for limits, shipped in zip(found.spreads, (overhead.ACTIVATIONS_SPREAD, overhead.GRAPHS_SPREAD), strict=True):
        assert shipped[0] <= limits[0] < shipped[0] + 0.01
        assert shipped[1] - 0.01 < limits[1] <= shipped[1]


def test_the_page_has_the_errors_of_starts_that_were_left_out() -> None:
    page = (ROOT / "docs/memory.md").read_text()
    assert left_out.table().strip() in page, "renew docs/memory.md with `python -m tests.memory.left_out`"
