"""vLLM: defaults, command line, speculative decoding.

Its options depend on the release, so none are listed here. Sources: docs.vllm.ai; the Spark guide for what sm_121
needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac.engines.engine import CACHE, CONTAINER, Engine, Request, Start
from sparkiac.engines.vllm_groups import GROUPS
from sparkiac.engines.words import written

if TYPE_CHECKING:
    from collections.abc import Mapping

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


ENGINE: Final = Engine(
    name="vllm",
    title="vLLM",
    suits="many requests at once: retrieval, internal APIs, batches; the heaviest to operate (Spark guide L19)",
    sources=("Spark guide L19", "docs.vllm.ai: vllm serve"),
    defaults=DEFAULTS,
    words=("vllm", "serve"),
    start=start,
    health="/health",
    metrics="/metrics",
    key_variable="VLLM_API_KEY",
    memory_share="gpu_memory_utilization",
    speculative=frozenset(
        {"ngram", "suffix", "mtp", "deepseek_mtp", "dflash", "dspark", "eagle", "eagle3", "draft_model"}
    ),
    edits={"dflash": DFLASH},
    groups=GROUPS,
    tested=True,
)
