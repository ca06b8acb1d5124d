"""The two units of the dual-Spark post; the comments give its lines.

`Description=` is left out: it has no effect on what runs.
"""

from __future__ import annotations

from typing import Final

from tests.catalog.printed import Fact, env, flags

ANY: Final = "0.0.0.0"  # noqa: S104  compared, not bound

_UNIT: Final[set[Fact]] = {
    ("unit", "After", "docker.service"),  # L21, L64
    ("unit", "After", "network-online.target"),  # L21, L64
    ("unit", "Type", "simple"),  # L23, L66
    ("unit", "User", "milo"),  # L24, L67
    ("unit", "Restart", "on-failure"),  # L25, L68
    ("unit", "RestartSec", "30"),  # L26, L69
    ("unit", "TimeoutStartSec", "900"),  # L27, L70
    ("unit", "TimeoutStopSec", "120"),  # L28, L71
    ("unit", "PermissionsStartOnly", "true"),  # L29, L72
    ("start step", "docker stop"),  # L30, L73
    ("start step", "docker rm"),  # L31, L74
    ("start step", "drop the page cache, failing without root"),  # L32, L75
    ("container", "rm"),  # L33, L76
    ("container", "gpus", "all"),  # L35, L78
    ("container", "ipc", "host"),  # L36, L79
    ("ulimit", "memlock", "-1"),  # L37, L80
    ("ulimit", "stack", "67108864"),  # L38, L81
    ("port", "8001", "8000"),  # L39, L82
    ("mount", "/root/.cache/huggingface", "/home/milo/.cache/huggingface"),  # L42, L84
}

SPARK_1: Final = (
    _UNIT
    | {("container", "name", "vllm-qwen36")}  # L34
    | env(VLLM_FLASHINFER_MOE_BACKEND="latency")  # L40
    | env(VLLM_USE_V1=1)  # L41
    | {("image", "nvcr.io/nvidia/vllm:26.04-py3")}  # L43
    | {("words", "vllm serve"), ("model", "RedHatAI/Qwen3.6-35B-A3B-NVFP4")}  # L44
    | flags(tokenizer="Qwen/Qwen3.6-35B-A3B")  # L45
    | flags(quantization="compressed-tensors")  # L46
    | flags(kv_cache_dtype="fp8")  # L47
    | flags(trust_remote_code=True)  # L48
    | flags(max_model_len=131072)  # L49
    | flags(gpu_memory_utilization=0.55)  # L50
    | flags(enable_auto_tool_choice=True)  # L51
    | flags(tool_call_parser="qwen3_coder")  # L52
    | flags(reasoning_parser="qwen3")  # L53
    | flags(speculative_config={"method": "mtp", "num_speculative_tokens": 2})  # L54
    | flags(enable_prefix_caching=True)  # L55
    | flags(max_num_batched_tokens=8192)  # L56
    | flags(host=ANY)  # L57
    | flags(port=8000)  # L58
)

SPARK_2: Final = (
    _UNIT
    | {("container", "name", "vllm-gemma4")}  # L77
    | env(VLLM_DISABLE_COMPILE_CACHE=1)  # L83
    | {("image", "vllm/vllm-openai:gemma4-0505-arm64-cu130")}  # L85: its entrypoint is `vllm serve`
    | {("model", "google/gemma-4-26B-A4B-it")}  # L86
    | flags(quantization="fp8")  # L87
    | flags(kv_cache_dtype="fp8")  # L88
    | flags(trust_remote_code=True)  # L89
    | flags(max_model_len=65536)  # L90
    | flags(gpu_memory_utilization=0.80)  # L91
    | flags(enable_auto_tool_choice=True)  # L92
    | flags(tool_call_parser="hermes")  # L93
    | flags(  # L94
        speculative_config={
            "method": "mtp",
            "model": "google/gemma-4-26B-A4B-it-assistant",
            "num_speculative_tokens": 4,
        }
    )
    | flags(enable_prefix_caching=True)  # L95
    | flags(host=ANY)  # L96
    | flags(max_num_batched_tokens=8192)  # L97
    | flags(port=8000)  # L98
)
