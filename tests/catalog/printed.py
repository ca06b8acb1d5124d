"""The three commands that people run today, typed in as facts: flag, variable, mount, limit, wait.

Sources: dual-Spark post (002, units of Spark 1 and Spark 2) and Spark guide (000), section 6. A fact is a tuple; its
last part is the
value. `Description=` is left out: it has no effect on what runs.
"""

from __future__ import annotations

import json
from typing import Final

Fact = tuple[str, ...]


def flags(**values: object) -> set[Fact]:
    """Make facts of a command's options; values are compared as JSON has them, so 0.80 is 0.8."""
    return {("flag", name.replace("_", "-"), value_of(value)) for name, value in values.items()}


def value_of(value: object) -> str:
    """Write a value in one way."""
    return json.dumps(value, sort_keys=True)


_UNIT: Final[set[Fact]] = {
    ("unit", "After", "docker.service"),  # 002 L21, L64
    ("unit", "After", "network-online.target"),  # 002 L21, L64
    ("unit", "Type", "simple"),  # 002 L23, L66
    ("unit", "User", "milo"),  # 002 L24, L67
    ("unit", "Restart", "on-failure"),  # 002 L25, L68
    ("unit", "RestartSec", "30"),  # 002 L26, L69
    ("unit", "TimeoutStartSec", "900"),  # 002 L27, L70
    ("unit", "TimeoutStopSec", "120"),  # 002 L28, L71
    ("unit", "PermissionsStartOnly", "true"),  # 002 L29, L72
    ("start step", "docker stop"),  # 002 L30, L73
    ("start step", "docker rm"),  # 002 L31, L74
    ("start step", "drop the page cache as root, failing without it"),  # 002 L32, L75
    ("container", "rm"),  # 002 L33, L76
    ("container", "gpus", "all"),  # 002 L35, L78
    ("container", "ipc", "host"),  # 002 L36, L79
    ("ulimit", "memlock", "-1"),  # 002 L37, L80
    ("ulimit", "stack", "67108864"),  # 002 L38, L81
    ("port", "8001", "8000"),  # 002 L39, L82
    ("mount", "/root/.cache/huggingface", "/home/milo/.cache/huggingface"),  # 002 L42, L84
}

SPARK_1: Final = (
    _UNIT
    | {
        ("container", "name", "vllm-qwen36"),  # 002 L34
        ("env", "VLLM_FLASHINFER_MOE_BACKEND", "latency"),  # 002 L40
        ("env", "VLLM_USE_V1", "1"),  # 002 L41
        ("image", "nvcr.io/nvidia/vllm:26.04-py3"),  # 002 L43
        ("words", "vllm serve"),  # 002 L44: the image passes its command through
        ("model", "RedHatAI/Qwen3.6-35B-A3B-NVFP4"),  # 002 L44
    }
    | flags(
        tokenizer="Qwen/Qwen3.6-35B-A3B",  # 002 L45
        quantization="compressed-tensors",  # 002 L46
        kv_cache_dtype="fp8",  # 002 L47
        trust_remote_code=True,  # 002 L48
        max_model_len=131072,  # 002 L49
        gpu_memory_utilization=0.55,  # 002 L50
        enable_auto_tool_choice=True,  # 002 L51
        tool_call_parser="qwen3_coder",  # 002 L52
        reasoning_parser="qwen3",  # 002 L53
        speculative_config={"method": "mtp", "num_speculative_tokens": 2},  # 002 L54
        enable_prefix_caching=True,  # 002 L55
        max_num_batched_tokens=8192,  # 002 L56
        host="0.0.0.0",  # noqa: S104  002 L57, compared
        port=8000,  # 002 L58
    )
)

SPARK_2: Final = (
    _UNIT
    | {
        ("container", "name", "vllm-gemma4"),  # 002 L77
        ("env", "VLLM_DISABLE_COMPILE_CACHE", "1"),  # 002 L83
        ("image", "vllm/vllm-openai:gemma4-0505-arm64-cu130"),  # 002 L85: its entrypoint is `vllm serve`
        ("model", "google/gemma-4-26B-A4B-it"),  # 002 L86
    }
    | flags(
        quantization="fp8",  # 002 L87
        kv_cache_dtype="fp8",  # 002 L88
        trust_remote_code=True,  # 002 L89
        max_model_len=65536,  # 002 L90
        gpu_memory_utilization=0.80,  # 002 L91
        enable_auto_tool_choice=True,  # 002 L92
        tool_call_parser="hermes",  # 002 L93
        speculative_config={  # 002 L94
            "method": "mtp",
            "model": "google/gemma-4-26B-A4B-it-assistant",
            "num_speculative_tokens": 4,
        },
        enable_prefix_caching=True,  # 002 L95
        host="0.0.0.0",  # noqa: S104  002 L96, compared
        max_num_batched_tokens=8192,  # 002 L97
        port=8000,  # 002 L98
    )
)

BASELINE: Final = {
    ("container", "name", "vllm"),  # 000 L79
    ("container", "ipc", "host"),  # 000 L79
    ("container", "restart", "unless-stopped"),  # 000 L79
    ("container", "gpus", "all"),  # 000 L80
    ("port", "8000", "8000"),  # 000 L80
    ("env", "HF_TOKEN", "the caller's"),  # 000 L81
    ("env", "HF_HOME", "/models"),  # 000 L82
    ("mount", "/models", "~/vllm"),  # 000 L83
    ("image", "nvcr.io/nvidia/vllm:26.04-py3"),  # 000 L84
    ("words", "vllm serve"),  # 000 L85
    # 000 L85: the model is the reader's choice
} | flags(
    host="0.0.0.0",  # noqa: S104  000 L86, compared
    port=8000,  # 000 L86
    max_model_len=65536,  # 000 L87
    gpu_memory_utilization=0.85,  # 000 L88
    max_num_seqs=4,  # 000 L89
)
