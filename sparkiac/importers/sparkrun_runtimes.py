"""The command that sparkrun generates for a recipe without one: a program, and an option for each known default.

Source: sparkrun's RECIPES.md, "Common Defaults Keys" and "Keys the runtime doesn't recognise", and its runtimes
(2026).
"""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.importers import values
from sparkiac.importers.shell_words import split

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Runtime(NamedTuple):
    """A server and the names of its options."""

    start: tuple[str, ...]
    """Words before the model."""
    renamed: Mapping[str, str]
    """Defaults whose option has another name."""
    same_name: frozenset[str] = frozenset()
    """Defaults whose option has the same name, with dashes."""
    switches: frozenset[str] = frozenset()
    """Options without a value."""
    defaults: Mapping[str, str] = MappingProxyType({})
    """Defaults of the runtime itself."""
    served_name: str | None = "--served-model-name"


class GeneratedCommand(NamedTuple):
    """A command, and the defaults that it does not use."""

    argv: tuple[str, ...]
    keys: tuple[str, ...]
    """The default that each word comes from; `model` for the first words."""
    unknown: tuple[str, ...]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ON_BY_DEFAULT: Final = _names(
    "enable_prefix_caching enable_chunked_prefill async_scheduling "
    "enable_flashinfer_autotune scheduler_reserve_full_isl"
)
"""Switches of vLLM that `false` turns off with a separate option."""
_VLLM: Final = Runtime(
    ("vllm", "serve"),
    {"tensor_parallel": "-tp", "pipeline_parallel": "-pp", "data_parallel": "--data-parallel-size"},
    _names(
        """
        port host gpu_memory_utilization max_model_len max_num_batched_tokens max_num_seqs served_model_name dtype
        quantization distributed_executor_backend kv_cache_dtype otlp_traces_endpoint api_key attention_backend
        load_format reasoning_parser tool_call_parser chat_template speculative_config tokenizer_mode
        mm_encoder_tp_mode block_size seed generation_config hf_overrides compilation_config attention_config
        model_loader_extra_config default_chat_template_kwargs limit_mm_per_prompt mm_processor_cache_gb
        kv_cache_memory_bytes max_cudagraph_capture_size long_prefill_token_threshold mamba_cache_mode
        safetensors_load_strategy moe_backend linear_backend gdn_prefill_backend gdn_decode_kernel
        kda_prefill_backend mamba_backend recurrent_checkpoint_policy prefix_cache_retention_interval engram_config
        dcp_comm_backend prefill_policy prefill_compute_share prefill_compute_half_life prefill_schedule_interval
        max_parallel_prefills decode_refill_target jit_monitor_mode
        """
    ),
    _ON_BY_DEFAULT
    | _names(
        """
        enforce_eager trust_remote_code enable_auto_tool_choice enable_prompt_tokens_details
        enable_force_include_usage enable_request_id_headers disable_custom_all_reduce
        """
    ),
)
_SGLANG: Final = Runtime(
    ("sglang", "serve", "--model-path"),
    values.table(
        """
        tensor_parallel=--tp-size pipeline_parallel=--pp-size data_parallel=--dp-size
        gpu_memory_utilization=--mem-fraction-static max_model_len=--context-length
        max_num_seqs=--max-running-requests chunked_prefill=--chunked-prefill-size
        speculative_draft_model=--speculative-draft-model-path
        """
    ),
    _names(
        """
        port host served_model_name dtype quantization kv_cache_dtype tokenizer_path api_key attention_backend
        load_format reasoning_parser tool_call_parser mm_feature_transport speculative_algorithm
        speculative_draft_model_path speculative_draft_model_revision speculative_num_steps speculative_eagle_topk
        speculative_num_draft_tokens speculative_dspark_block_size cuda_graph_bs cuda_graph_max_bs
        cuda_graph_max_bs_decode torch_compile_max_bs num_continuous_decode_steps fp8_gemm_backend fp4_gemm_backend
        moe_runner_backend mamba_ssm_dtype mamba_full_memory_ratio
        """
    ),
    _names("trust_remote_code enable_dp_attention enable_torch_compile disable_radix_cache disable_prefill_cuda_graph"),
)
_LLAMA: Final = Runtime(
    ("llama-server", "-hf"),
    {"max_model_len": "--ctx-size", "served_model_name": "--alias", "temperature": "--temp"},
    _names(
        """
        port host ctx_size n_gpu_layers parallel threads chat_template reasoning_format split_mode api_key top_p top_k
        min_p presence_penalty flash_attn
        """
    ),
    frozenset({"cont_batching", "no_webui", "jinja", "webui", "mmap"}),
    {"split_mode": "layer"},
    "--alias",
)
_TRTLLM: Final = Runtime(
    ("trtllm-serve",),
    values.table(
        """
        tensor_parallel=--tp_size pipeline_parallel=--pp_size expert_parallel=--ep_size
        max_num_tokens=--max_num_tokens max_batch_size=--max_batch_size max_model_len=--max_seq_len
        kv_cache_free_gpu_memory_fraction=--kv_cache_free_gpu_memory_fraction
        trust_remote_code=--trust_remote_code
        """
    ),
    frozenset({"port", "host", "backend", "tokenizer"}),
    frozenset({"trust_remote_code"}),
    {"backend": "pytorch"},
    None,
)
_ATLAS: Final = Runtime(
    ("spark", "serve"),
    values.table(
        """
        tensor_parallel=--tp-size max_model_len=--max-seq-len max_num_batched_tokens=--max-prefill-tokens
        served_model_name=--model-name
        """
    ),
    _names(
        """
        port host gpu_memory_utilization max_num_seqs kv_cache_dtype ep_size max_batch_size block_size
        kv_high_precision_layers tool_call_parser tool_max_tokens scheduling_policy tbt_deadline_ms max_prefill_tokens
        oom_guard_mb ssm_cache_slots ssm_checkpoint_interval mtp_quantization mtp_vocab num_drafts draft_model
        draft_model_revision dflash_gamma dflash_window_size max_thinking_budget model_from_path cache_dir gpu_ordinal
        disable_tool_grammar ssm_tail_midchunk gdn_fused_norm prefill_varlen_batch ssm_batched_recurrent exact_verify
        content_loop_watchdog high_speed_swap_graph high_speed_swap_dir high_speed_swap_gb
        high_speed_swap_resident_blocks high_speed_swap_rank high_speed_swap_qd high_speed_swap_cache_blocks_per_seq
        """
    ),
    _names(
        """
        enable_prefix_caching speculative self_speculative ngram_speculative dflash disable_thinking high_speed_swap
        require_auth video_allow_ffmpeg
        """
    ),
    served_name="--model-name",
)
_DS4: Final = Runtime(
    ("ds4-serve", "-m"), {"context": "-c", "max_model_len": "-c"}, frozenset({"port", "host"}), served_name=None
)
RUNTIMES: Final[Mapping[str, Runtime]] = {
    "vllm": _VLLM,
    "vllm-distributed": _VLLM,
    "vllm-ray": _VLLM,
    "eugr-vllm": _VLLM,
    "sglang": _SGLANG,
    "llama-cpp": _LLAMA,
    "trtllm": _TRTLLM,
    "atlas": _ATLAS,
    "ds4-cuda": _DS4,
}
_WRITTEN_IF_FALSE: Final = frozenset({"webui", "mmap"})
"""Switches of llama.cpp that are written only if false."""
_FALSE: Final = frozenset({"false", "no", "off", "0", "none"})


def generate(runtime: Runtime, model: str, settings: Mapping[str, object]) -> GeneratedCommand:
    """Build the command that sparkrun generates from these defaults."""
    start = (*runtime.start[:-1], "-m") if runtime is _LLAMA and _is_file(model) else runtime.start
    pairs = [(word, "model") for word in (*start, model)]
    unknown: list[str] = []
    for key, value in {**runtime.defaults, **settings}.items():
        option = _option(runtime, key, settings)
        if value is None:
            continue
        if option is None:
            unknown.append(key)
            continue
        words = _switch(key, option, value) if key in runtime.switches else [option, *_words(key, value)]
        pairs += [(word, key) for word in words]
    return GeneratedCommand(tuple(word for word, _ in pairs), tuple(key for _, key in pairs), tuple(unknown))


def _is_file(model: str) -> bool:
    return model.lower().endswith(".gguf") or "/" not in model


def _option(runtime: Runtime, key: str, settings: Mapping[str, object]) -> str | None:
    same_name = f"--{key.replace('_', '-')}" if key in runtime.same_name | runtime.switches else None
    renamed = runtime.renamed.get(key)
    if renamed is not None and any(
        _is_option_of(other, renamed) for other in settings if other != key and other in runtime.same_name
    ):
        return None
    return renamed or same_name


def _is_option_of(key: str, option: str) -> bool:
    return f"--{key.replace('_', '-')}" == option


def _switch(key: str, option: str, value: object) -> list[str]:
    on = str(value).lower() not in _FALSE
    if key in _WRITTEN_IF_FALSE:
        return [] if on else [f"--no-{key}"]
    if on:
        return [option]
    return [f"--no-{option.removeprefix('--')}"] if key in _ON_BY_DEFAULT else []


def _words(key: str, value: object) -> Iterator[str]:
    """Convert a value to words: JSON and collections to one word, booleans to lower case, text as a shell splits it."""
    text = str(value).strip()
    if isinstance(value, dict | tuple):
        yield json.dumps(value, separators=(",", ":"))
    elif isinstance(value, bool):
        yield {"flash_attn": "on" if value else "off"}.get(key, text.lower())
    elif text[:1] in {"{", "["}:
        yield text
    else:
        yield from split(text)
