"""vLLM: defaults, command line, speculative decoding, groups.

Its options depend on the release, so none are listed here. Sources: docs.vllm.ai; the Spark guide for what sm_121
needs.

A group is vLLM's own processes on each host (`mp`), or Ray. `mp` needs vLLM 0.11.1 or newer. With Ray, each container
starts the Ray processes of its host; the leader then starts `vllm serve`, which places one part of the model on each
host. Sources: vLLM's config/parallel.py and v1/executor/ray_executor.py (0.23.0), `ray start --help` and docs.ray.io
(2.60.0).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sparkiac.engines.engine import CACHE, CONTAINER, Engine, Groups, Member, Metric, Part, Request, Start
from sparkiac.engines.tables import written

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


MASTER_PORT: Final = 29501
"""Port of the leader to which all nodes connect: vLLM's default for --master-port, with Ray that of its head."""
_STEP: Final = 100
"""Distance of the ports of one group to those of the next one on the same host: more than Ray's ports need."""
_RAY_PORTS: Final = {
    "node_manager_port": 29502,
    "object_manager_port": 29503,
    "runtime_env_agent_port": 29504,
    "dashboard_agent_grpc_port": 29505,
    "dashboard_agent_listen_port": 29506,
    "metrics_export_port": 29507,
    "min_worker_port": 29510,
    "max_worker_port": 29599,
}
"""Ports of the Ray processes of each host; Ray would choose free ones, which no filter can name."""
_RAY_HEAD_PORTS: Final = ("10001", "44217", "44227")
"""Ports that the head opens on all addresses if the image contains what they need: remote Ray clients, the metrics of
the autoscaler and those of the dashboard, also if that is off. vLLM uses none of them."""
_OBJECT_STORE_BYTES: Final = 1 << 30
"""Ray would take 30 % of the memory. vLLM passes only small messages through it."""
_JOIN: Final = ("python3", "/run/sparkiac/lib/ray_group.py")
_RAY_LIMITS: Final = (
    "--num-cpus=1",  # Ray starts a Python process for each processor in advance; vLLM's workers claim none
    "--num-gpus=1",
    f"--object-store-memory={_OBJECT_STORE_BYTES}",
)
_SPLIT: Final = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")


def part(member: Member) -> Part:
    """Return the options of a node. By default each host gets an equal part of the model."""
    divided = {} if "pipeline_parallel_size" in member.options else {"tensor_parallel_size": member.size}
    return _ray(member, divided) if member.executor == "ray" else _native(member, divided)


def _port(member: Member) -> int:
    return MASTER_PORT + _STEP * member.number


def _native(member: Member, divided: dict[str, int]) -> Part:
    """Return the options of vLLM's own multi-node mode: all nodes but the first one serve no HTTP."""
    leader, port = member.addresses[0], _port(member)
    options = divided | {
        "distributed_executor_backend": "mp",
        "nnodes": member.size,
        "node_rank": member.rank,
        "master_addr": leader,
        "master_port": port,
    }
    return Part(
        options=options if member.leads else options | {"headless": True},
        store=f"{leader}:{port}",
        ports=(str(port),) if member.leads else (),
    )


def _ray(member: Member, divided: dict[str, int]) -> Part:
    """Return the commands of Ray: the leader waits for all nodes, a worker for the leader."""
    port, own = _port(member), member.addresses[member.rank]
    store = f"{member.addresses[0]}:{port}"
    named = {name: number + _STEP * member.number for name, number in _RAY_PORTS.items()}
    started = ("--include-dashboard=false", "--dashboard-host=127.0.0.1", f"--port={port}")
    role = ("--head", *started) if member.leads else (f"--address={store}",)
    ports = (f"--{name.replace('_', '-')}={number}" for name, number in named.items())
    ray = ("ray", "start", *role, f"--node-ip-address={own}", *_RAY_LIMITS, *ports, "--disable-usage-stats")
    single = tuple(str(number) for name, number in named.items() if not name.endswith("worker_port"))
    workers = f"{named['min_worker_port']}-{named['max_worker_port']}"
    heads = (str(port), *_RAY_HEAD_PORTS) if member.leads else ()
    # The head opens its store a while before its node has joined; a worker that starts between the two fails.
    joined = f"{member.addresses[0]}:{named['node_manager_port']}"
    wait = (*_JOIN, *(("nodes", str(member.size), store) if member.leads else ("head", store, joined)))
    return Part(
        options=divided | {"distributed_executor_backend": "ray"},
        before=(ray, wait) if member.leads else (wait,),
        program=() if member.leads else (*ray, "--block"),
        store=store,
        ports=(*heads, *single, workers),
    )


GROUPS: Final = Groups(
    executors=("mp", "ray"),
    part=part,
    split=_SPLIT,
    computed=("distributed_executor_backend", "nnodes", "node_rank", "master_addr", "master_port", "headless"),
)

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

_KEYLESS: Final = (
    "/invocations",
    "/generative_scoring",
    "/tokenize",
    "/detokenize",
    "/scale_elastic_ep",
    "/is_scaling_elastic_ep",
    "/metrics",
    "/load",
    "/health",
    "/ping",
    "/version",
    "/openapi.json",
    "/docs",
    "/redoc",
)
"""Asked without a key on a real `vllm serve` of a text model on a CPU with VLLM_API_KEY: no answer was 401.

/invocations answers what /v1/chat/completions, /v1/completions and others answer.
"""
APIS: Final = {"messages": "0.11.1", "responses": "0.11.0"}
"""Routes in the sources of 0.11.0, the oldest that was read, to 0.33.0. Keys are read from `Authorization` alone."""
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
    keyless={"0.23.0": _KEYLESS, "0.32.0": (*_KEYLESS, "/kv_event_sources")},
    apis=APIS,
    quantities=QUANTITIES,
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
