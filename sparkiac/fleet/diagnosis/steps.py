"""The order in which options are added to find the one with which a vLLM server fails to start.

The first steps are those of the Spark guide (L160): start with few options, then add KV cache type, prefix caching,
chunked prefill, async scheduling and MTP, one at a time.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sparkiac.plan.container import Container

FIRST: Final = "minimal"
SPECULATION: Final = "speculation"
SIZES: Final = "sizes"
LARGEST_SEQUENCES: Final = 4
"""max_num_seqs of the first step."""
CONTEXTS: Final = (65_536, 32_768, 16_384, 8_192)
"""max_model_len of the first step: the largest that fits."""
_GROUPS: Final = {
    "kv-cache-type": ("kv_cache_dtype", "calculate_kv_scales", "kv_cache_dtype_skip_layers", "block_size"),
    "prefix-caching": ("enable_prefix_caching", "prefix_caching_hash_algo", "mamba_cache_mode", "mamba_block_size"),
    "chunked-prefill": ("enable_chunked_prefill", "max_num_batched_tokens", "max_num_partial_prefills"),
    "async-scheduling": ("async_scheduling",),
    SPECULATION: (),
    "attention": ("attention_backend", "attention_config", "gdn_prefill_backend", "mm_encoder_attn_backend"),
    "loading": ("load_format", "model_loader_extra_config", "safetensors_load_strategy"),
    "cuda-graphs": (
        *("compilation_config", "max_cudagraph_capture_size", "cudagraph_capture_sizes", "optimization_level"),
    ),
    SIZES: ("max_model_len", "max_num_seqs"),
}
"""Name of a step → the engine options that it adds."""
_KEPT: Final = frozenset(
    """
    host port tokenizer tokenizer_mode trust_remote_code dtype quantization moe_backend linear_backend hf_overrides
    config_format runner convert language_model_only enforce_eager tensor_parallel_size pipeline_parallel_size
    data_parallel_size enable_expert_parallel distributed_executor_backend nnodes node_rank master_addr master_port
    headless gpu_memory_utilization kv_cache_memory_bytes reasoning_parser api_key
    """.split()  # noqa: SIM905  a list of 29 lines is no clearer
)
"""Options of every step: without them the server is another one, or does not fit the host."""
_REST: Final = "other-options"


class BisectStep(NamedTuple):
    """What a configuration adds to the one before."""

    name: str
    added: tuple[str, ...]
    """Engine options; empty for speculation and the first step."""


def steps(container: Container) -> tuple[BisectStep, ...]:
    """Divide the options of a server into steps that add some each; the first step adds none."""
    options = container.server.options
    named = {name for group in _GROUPS.values() for name in group}
    rest = tuple(sorted(name for name in options if name not in named | _KEPT))
    found = [BisectStep(FIRST, ())]
    for name, group in _GROUPS.items():
        present = tuple(each for each in group if each in options)
        if present or (name == SPECULATION and container.server.speculative):
            found.append(BisectStep(name, present))
    return (*found, BisectStep(_REST, rest)) if rest else tuple(found)
