"""The table of metric names against the pages of real servers and against the sources of every known vLLM release."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from sparkiac import engines
from sparkiac.catalog import interfaces
from sparkiac.engines import Metric
from sparkiac.host import series
from sparkiac.host.probe import metrics as probe_metrics
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGES: Final = sorted((ROOT / "tests/fleet/data/metrics").glob("vllm-*.txt"))
"""Pages of running servers of vLLM, without the buckets of histograms and without _created series."""


def exposed(page: Path) -> dict[str, str]:
    """Return name → type."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", page.read_text(), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_running_server_exposes_what_the_table_says(page: Path) -> None:
    found = exposed(page)
    _, release, *rest = page.stem.split("-")
    for quantity, metric in engines.quantities("vllm").items():
        expected = quantity in engines.quantities("vllm", release) and (
            not metric.speculation or rest == ["speculation"]
        )
        assert (metric.name in found) is expected, quantity
        assert found.get(metric.name, metric.kind) == metric.kind


def test_pages_of_all_five_releases_are_there() -> None:
    assert {page.stem.split("-")[1] for page in PAGES} == {"0.15.1", "0.17.1", "0.19.0", "0.23.0", "0.32.0"}


@pytest.mark.parametrize("release", interfaces.versions())
def test_the_source_of_each_vllm_release_declares_what_the_table_says(release: str) -> None:
    """The client library of Prometheus adds _total to the names of counters."""
    found = interfaces.interface(release)
    assert found is not None
    declared = {name.removesuffix("_total") for name in found.metrics}
    table, said = engines.quantities("vllm"), engines.quantities("vllm", release)
    assert [each for each in table if (table[each].name.removesuffix("_total") in declared) is not (each in said)] == []


def test_a_counter_ends_in_total() -> None:
    every = [metric for engine in engines.every() for metric in engine.quantities.values()]
    assert [each.name for each in every if (each.kind == "counter") is not each.name.endswith("_total")] == []


def test_the_engine_and_the_release_choose() -> None:
    assert engines.quantities("vllm")["waiting_by_reason"].first == "0.20.0"
    assert "waiting_by_reason" not in engines.quantities("vllm", "0.19.1")
    assert (
        engines.quantities("vllm", "0.20.1.dev3")["waiting_by_reason"]
        == engines.quantities("vllm")["waiting_by_reason"]
    )
    assert engines.quantities("aeon-vllm") == engines.quantities("vllm")
    assert engines.quantities("llama-cpp", "b9093")["running"] == Metric("llamacpp:requests_processing")
    assert engines.quantities("tensorrt-llm") == engines.quantities(None) == {}


def test_names_of_a_quantity_are_those_of_all_engines() -> None:
    assert engines.metric_names("running", "generation_rate") == (
        "llamacpp:requests_processing",
        "sglang:gen_throughput",
        "sglang:num_running_reqs",
        "vllm:num_requests_running",
    )


def test_the_probe_on_a_host_reads_the_same_names() -> None:
    probe = probe_metrics

    def short(quantity: str) -> set[str]:
        return {name.partition(":")[2] for name in engines.metric_names(quantity)}

    assert set(engines.metric_names("running")) == set(series.RUNNING)
    assert set(engines.metric_names("waiting")) == set(series.WAITING)
    assert short("kv_use") <= set(probe.USAGE)
    assert short("prompt_tokens") | short("generated_tokens") == set(probe.COUNTERS)
    assert short("draft_tokens") == {probe.DRAFTED}
    assert short("accepted_tokens") == {probe.ACCEPTED}
    assert (short("prefix_queries"), short("prefix_hits")) == ({probe.QUERIES}, {probe.HITS})
