"""Metrics that engines expose in /metrics: quantity → name, with the releases that have it, and the lines of a page.

vLLM: the interfaces under `vllm/`, and pages of running servers of 0.15.1, 0.17.1, 0.19.0, 0.23.0 and 0.32.0.
SGLang: the sources of 0.4.7, 0.5.5 and 0.5.23. llama.cpp: those of the builds b9093, b10078 and b11434.
"""

from __future__ import annotations

import re
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from sparkiac.catalog import interfaces
from sparkiac.model.base import MOST_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LINE: Final = re.compile(r"^([A-Za-z_:][\w:]*)(\{[^}]*\})? (\S+)$", re.MULTILINE)


class Metric(NamedTuple):
    """One metric of an engine."""

    name: str
    """Name in /metrics. A histogram adds _bucket, _sum and _count to it."""
    kind: Literal["gauge", "counter", "histogram"] = "gauge"
    first: str | None = None
    """First known release that has it; None if all known releases have it."""
    speculation: bool = False
    """Whether the engine exposes it only with speculative decoding."""
    at_end: bool = False
    """Whether a request counts only when it ends, so that the counter does not change while requests run."""


_VLLM: Final = MappingProxyType(
    {
        "running": Metric("vllm:num_requests_running"),
        "waiting": Metric("vllm:num_requests_waiting"),
        "waiting_by_reason": Metric("vllm:num_requests_waiting_by_reason", first="0.20.0"),
        "kv_use": Metric("vllm:kv_cache_usage_perc"),
        "prompt_tokens": Metric("vllm:prompt_tokens_total", "counter"),
        "generated_tokens": Metric("vllm:generation_tokens_total", "counter"),
        "requests": Metric("vllm:request_success_total", "counter", at_end=True),
        "preemptions": Metric("vllm:num_preemptions_total", "counter"),
        "prefix_queries": Metric("vllm:prefix_cache_queries_total", "counter"),
        "prefix_hits": Metric("vllm:prefix_cache_hits_total", "counter"),
        "time_to_first_token": Metric("vllm:time_to_first_token_seconds", "histogram"),
        "inter_token_latency": Metric("vllm:inter_token_latency_seconds", "histogram"),
        "request_time": Metric("vllm:e2e_request_latency_seconds", "histogram", at_end=True),
        "queue_time": Metric("vllm:request_queue_time_seconds", "histogram", at_end=True),
        "drafts": Metric("vllm:spec_decode_num_drafts_total", "counter", speculation=True),
        "draft_tokens": Metric("vllm:spec_decode_num_draft_tokens_total", "counter", speculation=True),
        "accepted_tokens": Metric("vllm:spec_decode_num_accepted_tokens_total", "counter", speculation=True),
        "cache_config": Metric("vllm:cache_config_info"),
    }
)
_SGLANG: Final = MappingProxyType(
    {
        "running": Metric("sglang:num_running_reqs"),
        "waiting": Metric("sglang:num_queue_reqs"),
        "kv_use": Metric("sglang:token_usage"),
        "prompt_tokens": Metric("sglang:prompt_tokens_total", "counter", at_end=True),
        "generated_tokens": Metric("sglang:generation_tokens_total", "counter", at_end=True),
        "generation_rate": Metric("sglang:gen_throughput"),
        "requests": Metric("sglang:num_requests_total", "counter", at_end=True),
        "prefix_hit_rate": Metric("sglang:cache_hit_rate"),
        "time_to_first_token": Metric("sglang:time_to_first_token_seconds", "histogram"),
        "inter_token_latency": Metric("sglang:inter_token_latency_seconds", "histogram"),
        "request_time": Metric("sglang:e2e_request_latency_seconds", "histogram", at_end=True),
        "accepted_length": Metric("sglang:spec_accept_length"),
    }
)
_LLAMA_CPP: Final = MappingProxyType(
    {
        "running": Metric("llamacpp:requests_processing"),
        "waiting": Metric("llamacpp:requests_deferred"),
        "prompt_tokens": Metric("llamacpp:prompt_tokens_total", "counter"),
        "generated_tokens": Metric("llamacpp:tokens_predicted_total", "counter", at_end=True),
    }
)
METRICS: Final[Mapping[str, Mapping[str, Metric]]] = MappingProxyType(
    {"vllm": _VLLM, "aeon-vllm": _VLLM, "sglang": _SGLANG, "llama-cpp": _LLAMA_CPP}
)
"""Engine → quantity → metric. Other engines have no metrics in the format of Prometheus."""


def of(engine: str | None, release: str | None = None) -> dict[str, Metric]:
    """Return quantity → metric of an engine, for a release or for any; empty for an engine without metrics."""
    found = METRICS.get(engine or "", {})
    return {quantity: metric for quantity, metric in found.items() if release is None or _has(metric, release)}


def names(*quantities: str) -> tuple[str, ...]:
    """Return the names of quantities in all engines, sorted."""
    found = {table[each].name for table in METRICS.values() for each in quantities if each in table}
    return tuple(sorted(found))


def samples(page: str) -> Iterator[tuple[str, str, float]]:
    """Yield name, labels and value of each series of a metrics page, without values that no metric can reach or NaN."""
    for name, labels, text in _LINE.findall(page):
        with suppress(ValueError):
            if abs(value := float(text)) <= MOST_BYTES:
                yield name, labels, value


def _has(metric: Metric, release: str) -> bool:
    return metric.first is None or interfaces.release(metric.first) <= interfaces.release(release)
