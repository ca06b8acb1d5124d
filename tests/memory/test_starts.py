"""Predictions beside the starts of real servers."""

from __future__ import annotations

import pytest

from sparkiac.memory.values import GIB
from sparkiac.model.inventory import Measured
from tests.memory.starts import STARTS, Start

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
