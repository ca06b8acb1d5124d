"""llama.cpp's server: defaults, command line, speculative decoding.

Its options are read from common/arg.cpp of its builds, `catalog/options/llama-cpp.json`, which takes a value only as a
word of its own. .devops/cuda.Dockerfile for the image, .github/workflows/docker.yml for its tags. No source ran it on a
Spark.

It serves one GGUF file. Weights and KV cache are allocated at start, as large as the options make them: there is no
fraction of the memory to plan with.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Final

from sparkiac.engines.engine import CACHE, CONTAINER, Engine, Groups, Member, Metric, Part, Request, Start
from sparkiac.engines.tables import written

DEFAULTS: Final[Mapping[str, Any]] = {
    # Its own port was 8080 and is 9931 since August 2026. Metrics are off unless asked for.
    "set": {"host": "0.0.0.0", "port": 8080, "metrics": True},  # noqa: S104  inside the container
    "env": {
        "LLAMA_ARG_OFFLINE": 1,
        "LLAMA_CACHE": f"{CACHE}/llama.cpp",
        # Kernels that the driver compiles for this GPU (CUDA programming guide, "CUDA Environment Variables").
        "CUDA_CACHE_PATH": f"{CACHE}/cuda",
    },
    **CONTAINER,
}
"""The lowest layer of every llama.cpp deployment."""

_ELSEWHERE: Final = {
    "model": "model_file",
    "alias": "served_names",
    "hf_repo": "model_file",
    "hf_file": "model_file",
    "spec_draft_model": "speculative",
    "api_key": "api_key",
}
_TYPES: Final = {
    "mtp": "draft-mtp",
    "dflash": "draft-dflash",
    "eagle3": "draft-eagle3",
    "draft_model": "draft-simple",
}
"""Method → its type. There are five types of n-grams, each with its own options: `set.spec_type` chooses one."""


def start(request: Request) -> Start:
    """Write the command-line options; `--model` is the model's file, `--alias` the served names with commas."""
    options = {**_speculative(request.speculative or {}), **request.options, "model": request.model}
    if request.served:
        options["alias"] = ",".join(request.served)
    return Start(written(options, ENGINE.options, joined=False))


def _speculative(chosen: Mapping[str, Any]) -> dict[str, Any]:
    if not chosen:
        return {}
    wanted = {
        "spec_type": _TYPES.get(chosen["method"], chosen["method"]),
        "spec_draft_model": chosen.get("model"),
        "spec_draft_n_max": chosen.get("num_speculative_tokens"),
    }
    return {name: value for name, value in wanted.items() if value is not None}


_RPC_PORT: Final = 50052
"""Default port of ggml-rpc-server."""
_TABLE: Final = "/proc/net/tcp"


def part(member: Member) -> Part:
    """Return the command of a node: workers run an RPC server for their GPU; the leader sends them weights.

    The leader waits for the workers, because it would load the whole model itself without them. A worker accepts one
    connection at a time, so its check reads the kernel's table instead of connecting.
    """
    port = _RPC_PORT + member.number
    if not member.leads:
        own = member.addresses[member.rank]
        program = ("/app/ggml-rpc-server", "--host", own, "--port", str(port))
        listens = f"grep -q ' {_end(own, port)} 00000000:0000 0A ' {_TABLE}"
        return Part(program=program, loads=False, ports=(str(port),), listen=own, check=listens)
    workers = member.addresses[1:]
    return Part(
        options={"rpc": ",".join(f"{address}:{port}" for address in workers)},
        before=tuple(("/bin/sh", "-c", _WAIT, address, str(port)) for address in workers),
        check=" && ".join(f"grep -q ' {_end(address, port)} 01 ' {_TABLE}" for address in workers),
    )


def _end(address: str, port: int) -> str:
    """Return an IPv4 address with the port as the kernel lists it: the bytes of the address in reverse order."""
    return f"{ip_address(address).packed[::-1].hex().upper()}:{port:04X}"


_WAIT: Final = 'until timeout 2 bash -c ": </dev/tcp/$0/$1" 2>/dev/null; do sleep 1; done'
GROUPS: Final = Groups(executors=("rpc",), part=part, computed=("rpc",), nccl=False, pairs=True)

_QUANTITIES: Final = {
    "running": Metric("llamacpp:requests_processing"),
    "waiting": Metric("llamacpp:requests_deferred"),
    "prompt_tokens": Metric("llamacpp:prompt_tokens_total", "counter"),
    "generated_tokens": Metric("llamacpp:tokens_predicted_total", "counter", at_end=True),
}
"""From the builds b9093, b10078 and b11434."""
_SPELLINGS: Final = """
-m=model -a=alias -c=ctx_size -b=batch_size -ub=ubatch_size -np=parallel -t=threads -tb=threads_batch
-ngl=n_gpu_layers -fa=flash_attn -n=n_predict -ctk=cache_type_k -ctv=cache_type_v -hf=hf_repo -hff=hf_file
-md=spec_draft_model --model-draft=spec_draft_model -sm=split_mode -ts=tensor_split -mg=main_gpu -s=seed
-cb=cont_batching -ot=override_tensor
"""
"""From tools/server/README.md."""

ENGINE: Final = Engine(
    name="llama-cpp",
    title="llama.cpp",
    suits="one local user: light, GGUF, a quick start; less total throughput (Spark guide L20, L344)",
    sources=("Spark guide L20, L344", "github.com/ggml-org/llama.cpp: tools/server/README.md"),
    defaults=DEFAULTS,
    words=("/app/llama-server",),
    start=start,
    loopback=True,
    python=False,
    processes=False,
    local=True,
    needs={
        "model_path": "llama.cpp loads a GGUF file from a directory, and downloads nothing at the start",
        "model_file": "llama.cpp loads one GGUF file of that directory",
    },
    groups=GROUPS,
    released=True,
    of_vllm={"max_model_len": "ctx_size", "max_num_seqs": "parallel"},
    elsewhere=_ELSEWHERE,
    spellings=_SPELLINGS,
    plain_v_cache=frozenset({"f32", "f16", "bf16"}),
    # They require a value since September 2025.
    former_switches={"-fa": "on", "--flash-attn": "on"},
    health="/health",
    key_variable="LLAMA_API_KEY",
    structured=True,
    metrics="/metrics",
    apis={"messages": None, "responses": None},  # tools/server/README.md names no build
    metrics_option="metrics",
    metrics_keyed=True,  # every path except /health and the list of models (tools/server, middleware_validate_api_key)
    quantities=_QUANTITIES,
    speculative=frozenset(_TYPES),
    methods=_TYPES,
    method_option="spec_type",
    images=dict.fromkeys(
        ("ghcr.io/ggml-org/llama.cpp", "ghcr.io/ggerganov/llama.cpp"), r"(?:server|full)(?:-[a-z0-9]+)*-(b\d+)"
    ),
    image_names=("llama.cpp", "llama-cpp"),
    image_tags="server",
    commands=(("llama-server",),),
    base="base/llama-cpp",
    sparkrun=("llama-cpp",),
)
