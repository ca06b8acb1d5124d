"""LMDeploy: an engine that sparkiac does not ship, as the one file that adds it.

Sources: lmdeploy serve api_server --help and docs/en/advance/metrics.md of InternLM/lmdeploy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac.engines.engine import CACHE, CONTAINER, Engine, Metric, Request, Start
from sparkiac.engines.tables import chosen, known, written

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULTS: Final[Mapping[str, Any]] = {
    "set": {"server_name": "0.0.0.0", "server_port": 23333, "enable_metrics": True},  # noqa: S104  in the container
    "env": {"HF_HUB_OFFLINE": 1, "TRITON_CACHE_DIR": f"{CACHE}/triton"},
    **CONTAINER,
}
OPTIONS: Final = known(
    text="server_name revision tool_call_parser reasoning_parser",
    integer="server_port session_len max_batch_size tp",
    number="cache_max_entry_count",
    switch="enable_metrics enable_prefix_caching",
) | chosen(backend="pytorch turbomind", quant_policy="0 4 8")


def start(request: Request) -> Start:
    """Write the model, then the options; a value is a word of its own."""
    options = request.pins(revision=request.model) | dict(request.options)
    if request.served:
        options["model_name"] = request.served[0]
    return Start((request.model, *written(options, OPTIONS, joined=False)))


ENGINE: Final = Engine(
    name="lmdeploy",
    title="LMDeploy",
    suits="quantized weights with TurboMind",
    sources=("github.com/InternLM/lmdeploy: docs/en",),
    defaults=DEFAULTS,
    words=("lmdeploy", "serve", "api_server"),
    start=start,
    health="/health",
    key_variable=None,
    metrics="/metrics",
    listed=OPTIONS,
    host="server_name",
    port="server_port",
    context="session_len",
    memory_share="cache_max_entry_count",
    of_vllm={"max_model_len": "session_len"},
    elsewhere={"model_name": "served_names", "api_keys": "api_key"},
    one_name=True,
    default_name="whole",
    structured=True,
    metrics_option="enable_metrics",
    quantities={
        "running": Metric("lmdeploy:num_requests_running"),
        "waiting": Metric("lmdeploy:num_requests_waiting"),
        "kv_use": Metric("lmdeploy:gpu_cache_usage_perc"),
        "prompt_tokens": Metric("lmdeploy:prompt_tokens_total", "counter"),
        "time_to_first_token": Metric("lmdeploy:time_to_first_token_seconds", "histogram"),
    },
    image_names=("lmdeploy",),
    commands=(("lmdeploy", "serve", "api_server"),),
)
