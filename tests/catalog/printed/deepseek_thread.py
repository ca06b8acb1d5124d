"""The recipe of two machines that the DeepSeek-V4 thread prints, and the one that it tells; the comments give lines.

How the image is built (L248-254) is no fact of the command; the launcher that the recipe is written for adds the
options of a network that it does not print.
"""

from __future__ import annotations

from typing import Final

from tests.catalog.printed import env, flags

ANY: Final = "0.0.0.0"  # noqa: S104  compared, not bound

EUGR_MTP: Final = (
    {("image", "vllm-node-dsv4")}  # L245
    | env(TORCH_CUDA_ARCH_LIST="12.1a")  # L269
    | env(VLLM_ALLOW_LONG_MAX_MODEL_LEN=1)  # L270
    | env(VLLM_TRITON_MLA_SPARSE=1)  # L271
    | env(FLASHINFER_DISABLE_VERSION_CHECK=1)  # L272
    | env(TILELANG_CLEANUP_TEMP_FILES=1)  # L273
    | env(DG_JIT_USE_NVRTC=0)  # L274
    | env(DG_JIT_NVCC_COMPILER="/usr/local/cuda/bin/nvcc")  # L275
    | env(DG_JIT_PRINT_COMPILER_COMMAND=1)  # L276
    | env(NCCL_IB_DISABLE=0)  # L277
    | env(NCCL_DEBUG="WARN")  # L278
    | {("words", "vllm serve"), ("model", "deepseek-ai/DeepSeek-V4-Flash")}  # L281
    | flags(served_model_name="deepseek-v4-flash")  # L282, L266
    | flags(host=ANY)  # L283, L258
    | flags(port=8000)  # L284, L257
    | flags(trust_remote_code=True)  # L285
    | flags(tensor_parallel_size=2)  # L286, L259
    | flags(pipeline_parallel_size=1)  # L287, L260
    | flags(kv_cache_dtype="fp8")  # L288
    | flags(block_size=256)  # L289, L265
    | flags(enable_prefix_caching=True)  # L290
    | flags(max_model_len=300000)  # L291, L262
    | flags(max_num_seqs=2)  # L292, L264
    | flags(max_num_batched_tokens=16384)  # L293, L263
    | flags(gpu_memory_utilization=0.85)  # L294, L261
    | flags(distributed_executor_backend="mp")  # L295
    | flags(compilation_config={"cudagraph_mode": "FULL_AND_PIECEWISE", "custom_ops": ["all"]})  # L296
    | flags(speculative_config={"method": "deepseek_mtp", "num_speculative_tokens": 2})  # L297
    | flags(tokenizer_mode="deepseek_v4")  # L298
    | flags(tool_call_parser="deepseek_v4")  # L299
    | flags(enable_auto_tool_choice=True)  # L300
    | flags(reasoning_parser="deepseek_v4")  # L301
    | flags(  # L302
        reasoning_config={
            "reasoning_parser": "deepseek_v4",
            "reasoning_start_str": "<think>",
            "reasoning_end_str": "</think>",
        }
    )
    | flags(default_chat_template_kwargs={"thinking": True})  # L303
    | flags(load_format="instanttensor")  # L304
)

RAY_ROCE: Final = (
    {("model", "deepseek-ai/DeepSeek-V4-Flash")}  # L343: the thread's subject; L364: the image's name is lost
    | {("words", "vllm serve")}  # L366: the image leaves the command to its user
    | flags(tensor_parallel_size=2, distributed_executor_backend="ray")  # L380: "TP=2 (Ray)"
    | flags(gpu_memory_utilization=0.85, max_model_len=200000, max_num_batched_tokens=8192, max_num_seqs=8)  # L380
    | flags(kv_cache_dtype="fp8", block_size=256, enable_expert_parallel=True)  # L381
    | flags(speculative_config={"method": "deepseek_mtp", "num_speculative_tokens": 2})  # L382
    | flags(compilation_config={"cudagraph_mode": "FULL_AND_PIECEWISE", "custom_ops": ["all"]})  # L383
    | env(TORCH_CUDA_ARCH_LIST="12.1a", VLLM_TRITON_MLA_SPARSE=1)  # L384
    | env(VLLM_ALLOW_LONG_MAX_MODEL_LEN=1, VLLM_SKIP_INIT_MEMORY_CHECK=1)  # L385
)
"""Told in prose, with short names for some options, typographic dashes and quotes: no command to copy."""
