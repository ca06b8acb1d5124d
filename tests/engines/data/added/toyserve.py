"""Toyserve: the one file that adds an engine. No such engine exists; its options are modelled on those of real ones."""

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
    name="toyserve",
    title="Toyserve",
    suits="quantized weights with TurboMind",
    sources=("invented for a test",),
    defaults=DEFAULTS,
    words=("toyserve", "serve", "api_server"),
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
        "running": Metric("toyserve:num_requests_running"),
        "waiting": Metric("toyserve:num_requests_waiting"),
        "kv_use": Metric("toyserve:gpu_cache_usage_perc"),
        "prompt_tokens": Metric("toyserve:prompt_tokens_total", "counter"),
        "time_to_first_token": Metric("toyserve:time_to_first_token_seconds", "histogram"),
    },
    image_names=("toyserve",),
    commands=(("toyserve", "serve", "api_server"),),
)
