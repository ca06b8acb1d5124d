"""The load of a server from pages of /metrics: those of real vLLM servers, and what SGLang and llama.cpp document."""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac.fleet.facts import Reading, metric_names
from sparkiac.fleet.status import Load, load
from sparkiac.host import series
from tests.conftest import ROOT

PAGES: Final = sorted((ROOT / "tests/fleet/data/metrics").glob("vllm-*.txt"))


def reading(page: str, at_s: float) -> Reading:
    """Return what the program on the host reads of a page."""
    found = series.values(page)
    return Reading(at_s=at_s, values={name: tuple(found[name]) for name in metric_names() if name in found})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_of_a_real_server(page) -> None:  # noqa: ANN001  a path
    text = page.read_text()
    line = next(line for line in text.splitlines() if line.startswith("vllm:generation_tokens_total{"))
    later = text.replace(line, line.rpartition(" ")[0] + f" {float(line.rpartition(' ')[2]) + 30}")
    assert later != text
    for before, after in (("num_requests_running{", 3), ("num_requests_waiting{", 4), ("kv_cache_usage_perc{", 0.5)):
        line = next(line for line in text.splitlines() if line.startswith(f"vllm:{before}"))
        later = later.replace(line, line.rpartition(" ")[0] + f" {after}")
    assert load("vllm", (reading(text, 10), reading(later, 12))) == Load(0.5, 3, 4, 15.0)


@pytest.mark.parametrize(("tokens", "seconds", "rate"), [(5, 0.211, 23.7), (15, 0.661, 22.7)])
def test_the_turns_of_a_game_from_a_growing_counter(tokens: int, seconds: float, rate: float) -> None:
    """The blog's game answers with 5 to 15 tokens in 0.2 to 0.7 s; a client polls the counters."""
    pages = [f"vllm:generation_tokens_total {count}\nvllm:num_requests_running 1\n" for count in (1000, 1000 + tokens)]
    found = load("vllm", (reading(pages[0], 5), reading(pages[1], 5 + seconds)))
    assert found.tokens_per_s == pytest.approx(rate, rel=0.005)


SGLANG: Final = """\
sglang:num_running_reqs{model_name="m",tp_rank="0"} 5.0
sglang:num_queue_reqs{model_name="m",tp_rank="0"} 1.0
sglang:token_usage{model_name="m",tp_rank="0"} 0.28
sglang:gen_throughput{model_name="m",tp_rank="0"} 86.5
sglang:generation_tokens_total{model_name="m"} 100.0
"""
LLAMA_CPP: Final = "llamacpp:requests_processing 1\nllamacpp:requests_deferred 2\nllamacpp:tokens_predicted_total 7\n"


def test_engines_that_count_tokens_when_a_request_ends() -> None:
    assert load("sglang", (reading(SGLANG, 1), reading(SGLANG, 2))) == Load(0.28, 5, 1, 86.5)
    assert load("llama-cpp", (reading(LLAMA_CPP, 1), reading(LLAMA_CPP, 2))) == Load(None, 1, 2, None)


def test_several_engines_behind_one_server() -> None:
    lines = ('vllm:num_requests_running{engine="%d"} %d', 'vllm:kv_cache_usage_perc{engine="%d"} 0.%d')
    page = "\n".join(line % (number, number) for line in lines for number in (1, 2))
    assert load("vllm", (reading(page, 1), reading(page, 2)))[:2] == (0.2, 3)


@pytest.mark.parametrize(
    ("first", "second", "seconds"),
    [(100, 50, 1), (100, 200, 0), (100, None, 1)],
    ids=["restarted between the readings", "no time between them", "gone in the second"],
)
def test_no_rate(first: int, second: int | None, seconds: float) -> None:
    pages = [f"vllm:generation_tokens_total {tokens}\nvllm:num_requests_running 1\n" for tokens in (first, second)]
    assert load("vllm", (reading(pages[0], 5), reading(pages[1], 5 + seconds))) == Load(None, 1, None, None)


def test_no_load() -> None:
    page = reading("vllm:num_requests_running 1", 1)
    assert load("vllm", None) == load("vllm", ()) == load(None, (page,)) == load("ollama", (page,)) == Load()
