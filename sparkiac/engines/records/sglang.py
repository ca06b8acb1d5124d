"""SGLang: defaults, command line, speculative decoding.

Its options are read from its released wheels, `catalog/options/sglang.json`. Sources: the server's start-up code,
package sglang 0.5.23; docs.sglang.io, "Quickstart". No source ran it on a Spark.

The API key can be an argument or be in a configuration file; the server shows a key from the file in `/server_info`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sparkiac.engines.engine import CACHE, CONTAINER, Engine, Groups, Member, Metric, Part, Refusal, Request, Start
from sparkiac.engines.tables import OptionTable, written

DEFAULTS: Final[Mapping[str, Any]] = {
    # Its own defaults are 127.0.0.1 and 30000. Metrics are off unless asked for.
    "set": {"host": "0.0.0.0", "port": 30000, "enable_metrics": True},  # noqa: S104  inside the container
    "env": {
        "HF_HUB_OFFLINE": 1,
        "HF_MODULES_CACHE": f"{CACHE}/modules",
        # The base of all its caches: Triton, Inductor, FlashInfer, DeepGEMM.
        "SGLANG_CACHE_DIR": f"{CACHE}/sglang",
        "SGLANG_JIT_CACHE_DIR": f"{CACHE}/sglang/jit",
        # Else /health generates a token, and a long prompt before it would look like a server that hangs.
        "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION": 0,
    },
    **CONTAINER,
}
"""The lowest layer of every SGLang deployment."""

_ELSEWHERE: Final = {
    "model_path": "model",
    "served_model_name": "served_names",
    "speculative_algorithm": "speculative",
    "speculative_draft_model_path": "speculative",
    "api_key": "api_key",
}
_ALGORITHMS: Final = {
    "ngram": "NGRAM",
    "mtp": "NEXTN",
    "deepseek_mtp": "NEXTN",
    "dflash": "DFLASH",
    "dspark": "DSPARK",
    "eagle": "EAGLE",
    "eagle3": "EAGLE3",
    "draft_model": "STANDALONE",
}
_SPECULATION: Final = {
    "speculative_algorithm": "method",
    "speculative_draft_model_path": "model",
    "speculative_num_draft_tokens": "num_speculative_tokens",
}
_CHAINED: Final = frozenset({"mtp", "deepseek_mtp", "eagle", "eagle3", "draft_model"})
"""Methods that draft tokens one by one; the others draft a block at once."""


def start(request: Request) -> Start:
    """Return the arguments: the model, one served name, and the options. `--config` must be a separate word."""
    chosen = request.speculative or {}
    pins = request.pins(revision=request.model, speculative_draft_model_revision=chosen.get("model"))
    options = {**pins, **_speculative(chosen), **request.options}
    options["model_path"] = request.model
    if request.served:
        options["served_model_name"] = request.served[0]
    if "config" in options:
        options["config"] = (options["config"],)
    return Start(written(options, ENGINE.options))


def _speculative(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a method. The draft width includes the start token: one more than the guessed tokens."""
    if not chosen:
        return {}
    method, tokens = chosen["method"], chosen.get("num_speculative_tokens")
    options: dict[str, Any] = {"speculative_algorithm": _ALGORITHMS.get(method, method)}
    if chosen.get("model") is not None:
        options["speculative_draft_model_path"] = chosen["model"]
    if tokens is not None:
        options["speculative_num_draft_tokens"] = tokens + (method != "ngram")
        if method in _CHAINED:
            options |= {"speculative_num_steps": tokens, "speculative_eagle_topk": 1}
        if method == "dspark":  # the width must be one more than the block (0.5.23, arg_groups/speculative_hook.py)
            options["speculative_dspark_block_size"] = tokens
    return options


def part(member: Member) -> Part:
    """Return the options of a node; all nodes connect to the store that the leader opens at --dist-init-addr."""
    port = _STORE_PORT + _STEP * member.number
    store = f"{member.addresses[0]}:{port}"
    options = {"nnodes": member.size, "node_rank": member.rank, "dist_init_addr": store}
    divided = {} if {*_SPLIT, *_ALIASES} & member.options.keys() else {"tp_size": member.size}
    return Part(options=divided | options, store=store, ports=(str(port),) if member.leads else ())


_STORE_PORT: Final = 29501
_STEP: Final = 100
"""As in groups of vLLM, which can share a host with one of SGLang."""
_SPLIT: Final = ("tp_size", "pp_size")
_ALIASES: Final = ("tensor_parallel_size", "pipeline_parallel_size")
GROUPS: Final = Groups(
    executors=("sglang",),
    part=part,
    split=(*_SPLIT, *_ALIASES),
    computed=("nnodes", "node_rank", "dist_init_addr", "nccl_init_addr"),
)
"""Data parallelism (`dp_size`) divides the processes of a tensor-parallel group; it needs no further ones."""

_PHASES: Final = ("prefill", "decode")
_REFUSALS: Final = (
    Refusal("fa3", _PHASES, "0.4.7", "0.5.23", "compute capability 8 or 9"),
    Refusal("trtllm_mha", _PHASES, "0.5.1", "0.5.9", "compute capability 10"),
    Refusal("trtllm_mha", ("prefill",), "0.5.10", "0.5.18", "compute capability 10 for prefill"),
    Refusal("trtllm_mha", ("prefill",), "0.5.19", "0.5.23", "a KV cache dtype other than fp8_e4m3", "fp8_e4m3"),
    Refusal("trtllm_mla", ("decode",), "0.5.1", "0.5.4.post1", "compute capability 10"),
    Refusal("cutedsl_mla", ("decode",), "0.5.13", "0.5.23", "compute capability 10"),
)
"""From its released wheels: `create_flashattention_v3_backend`, in model_runner.py and later layers/attention/
attention_registry.py, and server_args.py, later arg_groups/overrides.py and arg_groups/attention_hook.py."""
_REPLACED: Final = frozenset({("fa3", "fp8_e5m2")})
"""Backend and KV cache dtype that SGLang replaces by Triton."""


def refused(options: Mapping[str, object], table: OptionTable, release: str) -> dict[str, Refusal]:
    """Return the options whose backend a release refuses, each with the first reason."""
    found: dict[str, Refusal] = {}
    cache = options.get("kv_cache_dtype")
    for phase in _PHASES:
        own = f"{phase}_attention_backend"
        name = "attention_backend" if options.get(own) is None else own
        backend = options.get(name)
        for each in _REFUSALS if (backend, cache) not in _REPLACED else ():
            held = table.releases[table.releases.index(each.first) : table.releases.index(each.last) + 1]
            applies = each.backend == backend and phase in each.phases and each.kv_cache in {None, cache}
            if applies and release in held:
                found.setdefault(name, each)
    return found


_QUANTITIES: Final = {
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
"""From the sources of 0.4.7, 0.5.5 and 0.5.23."""
_SPELLINGS: Final = """
--model=model_path --tp=tp_size --tensor-parallel-size=tp_size --dp=dp_size --data-parallel-size=dp_size
--pp=pp_size --pipeline-parallel-size=pp_size --ep=ep_size --speculative-draft-model=speculative_draft_model_path
--speculative-algo=speculative_algorithm
"""
"""From server_args.py."""

ENGINE: Final = Engine(
    name="sglang",
    title="SGLang",
    suits="shared prefixes, agents, structured output; images for Spark follow its releases (Spark guide L21)",
    sources=("Spark guide L21", "docs.sglang.io: Server arguments (0.5.23)"),
    defaults=DEFAULTS,
    words=("python3", "-m", "sglang.launch_server"),
    start=start,
    loopback=True,
    groups=GROUPS,
    released=True,
    context="context_length",
    memory_share="mem_fraction_static",
    refused=refused,
    tensor_sizes=("tp_size", "tensor_parallel_size"),
    of_vllm={
        "max_model_len": "context_length",
        "gpu_memory_utilization": "mem_fraction_static",
        "max_num_seqs": "max_running_requests",
        "max_num_batched_tokens": "chunked_prefill_size",
    },
    parallel={
        **dict.fromkeys(("tp_size", "tensor_parallel_size"), "tensor_parallel"),
        **dict.fromkeys(("pp_size", "pipeline_parallel_size"), "pipeline_parallel"),
    },
    elsewhere=_ELSEWHERE,
    spellings=_SPELLINGS,
    health="/health",
    key_variable=None,
    one_name=True,
    default_name="whole",
    structured=True,
    metrics="/metrics",
    apis={
        "messages": "0.5.9",
        "responses": "0.5.1",
    },  # routes in 0.4.10, 0.5.1, 0.5.8.post1, 0.5.9
    metrics_option="enable_metrics",
    quantities=_QUANTITIES,
    speculative=frozenset(_ALGORITHMS),
    methods=_ALGORITHMS,
    method_option="speculative_algorithm",
    speculation=_SPECULATION,
    counts_start=True,
    images={"lmsysorg/sglang": r"v(\d+\.\d+\.\d+(?:\.?(?:rc|post)\d+)?)(?:-.+)?"},
    labels=("com.nvidia.sglang.version", "SGLANG_VERSION"),
    image_names=("sglang",),
    commands=(
        ("sglang", "serve"),
        ("python3", "-m", "sglang.launch_server", "serve"),
        ("python3", "-m", "sglang.launch_server"),
    ),
    base="base/sglang",
    sparkrun=("sglang",),
)
"""`mem_fraction_static` is weights and KV cache over the memory that is free at the start; activations come on top."""
