"""vLLM: defaults, command line, speculative decoding.

Its options depend on the release, so none are listed here. Sources: docs.vllm.ai; the Spark guide for what sm_121
needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sparkiac.engines.engine import CACHE, CONTAINER, Engine, Metric, Request, Start
from sparkiac.engines.vllm_groups import GROUPS
from sparkiac.engines.words import written

DEFAULTS: Final[Mapping[str, Any]] = {
    "set": {"host": "0.0.0.0", "port": 8000},  # noqa: S104  inside the container; `bind` decides what is published
    "env": {
        "HF_HUB_OFFLINE": 1,
        "HF_MODULES_CACHE": f"{CACHE}/modules",
        "VLLM_NO_USAGE_STATS": 1,
        "VLLM_CACHE_ROOT": f"{CACHE}/vllm",
        "VLLM_CONFIG_ROOT": f"{CACHE}/config",
        "TRITON_CACHE_DIR": f"{CACHE}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{CACHE}/inductor",
        "FLASHINFER_WORKSPACE_BASE": f"{CACHE}/flashinfer",
    },
    **CONTAINER,
}
"""The lowest layer of every vLLM deployment."""

DFLASH: Final[Mapping[str, Any]] = {
    "set": {"attention_backend": "triton_attn", "kv_cache_dtype": None},
    "env": {"VLLM_USE_DEEP_GEMM": 0},
}
"""What DFlash needs around it: a KV cache in BF16, and a backend that runs on sm_121 (Spark guide L677, L768, L781)."""


def start(request: Request) -> Start:
    """Write the model, then one sorted `--option=value` each.

    Without the commits of model and tokenizer, the server takes what the hub's `main` was at download.
    """
    pins = request.pins(revision=request.model, tokenizer_revision=request.options.get("tokenizer"))
    options = pins | dict(request.options)
    if request.served:
        options["served_model_name"] = request.served
    if request.speculative is not None:
        chosen = request.pins(revision=request.speculative.get("model")) | dict(request.speculative)
        options["speculative_config"] = {key: value for key, value in chosen.items() if value is not None}
    return Start((request.model, *written(options)))


QUANTITIES: Final = {
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
"""Sources: the interfaces under `catalog/vllm`; pages of servers of 0.15.1, 0.17.1, 0.19.0, 0.23.0 and 0.32.0."""
TOOLS: Final = ("enable_auto_tool_choice", "tool_call_parser")
BATCHES: Final = ("max_num_batched_tokens", "max_num_seqs")
BACKENDS: Final = ("attention_backend", "moe_backend", "linear_backend")

ENGINE: Final = Engine(
    name="vllm",
    title="vLLM",
    suits="many requests at once: retrieval, internal APIs, batches; the heaviest to operate (Spark guide L19)",
    sources=("Spark guide L19", "docs.vllm.ai: vllm serve"),
    defaults=DEFAULTS,
    tested=True,
    vllm=True,
    words=("vllm", "serve"),
    start=start,
    groups=GROUPS,
    context="max_model_len",
    memory_share="gpu_memory_utilization",
    parallel={"tensor_parallel_size": "tensor_parallel", "pipeline_parallel_size": "pipeline_parallel"},
    elsewhere={"model": "model", "served_model_name": "served_names"},
    tools=TOOLS,
    backends=BACKENDS,
    batches=BATCHES,
    health="/health",
    key_variable="VLLM_API_KEY",
    default_name="whole",
    structured=True,
    metrics="/metrics",
    quantities=QUANTITIES,
    speculative=frozenset(
        {"ngram", "suffix", "mtp", "deepseek_mtp", "dflash", "dspark", "eagle", "eagle3", "draft_model"}
    ),
    edits={"dflash": DFLASH},
    labels=("com.nvidia.vllm.version", "VLLM_VERSION"),
    style="vllm-serve",
    image_names=("vllm",),
    commands=(
        ("vllm", "serve"),
        ("python3", "-m", "vllm.entrypoints.openai.api_server", "serve"),
        ("python3", "-m", "vllm.entrypoints.openai.api_server"),
        ("python3", "-m", "vllm.entrypoints.cli.main", "serve"),
        ("python3", "-m", "vllm.entrypoints.cli.main"),
    ),
    base="base/single-spark",
    sparkrun=("vllm", "vllm-distributed"),
)
