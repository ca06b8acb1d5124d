"""The one command of the vLLM blog; the comments give its lines."""

from __future__ import annotations

from typing import Final

from tests.catalog.printed import HF_TOKEN, docker_run, flags

NEMOTRON_SUPER: Final = (
    docker_run("vllm")  # L63-64
    | HF_TOKEN  # L65
    | {("mount", "/root/.cache/huggingface", "~/.cache/huggingface")}  # L66
    | {("image", "vllm/vllm-openai:cu130-nightly")}  # L67
    | {("words", "vllm serve")}  # L68, though the image's entrypoint says it already
    | {("model", "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4")}  # L68
    | flags(served_model_name="nemotron-3-super")  # L69
    | flags(trust_remote_code=True)  # L70
    | flags(max_model_len=131072)  # L71
    | flags(gpu_memory_utilization=0.85)  # L72
    | flags(max_num_seqs=4)  # L73
    | flags(reasoning_parser="nemotron_v3")  # L74
    | flags(enable_auto_tool_choice=True)  # L75
    | flags(tool_call_parser="qwen3_coder")  # L76, where the next sentence is glued to the value
)
