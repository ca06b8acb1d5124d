"""Options of llama.cpp's server, as tools/server/README.md of ggml-org/llama.cpp lists them at 00dc8057.

Without those that end at once or download, that were removed, and that a key of the inventory says. Each under its
first long name; a list with commas is a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.engines.engine import chosen, known, names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.engines.engine import Option

_CACHE: Final = "f32 f16 bf16 q8_0 q4_0 q4_1 iq4_nl q5_0 q5_1"
_THREE: Final = "on off auto"

_KNOWN: Final = known(
    integer="""
    batch_size cache_ram cache_reuse checkpoint_min_step cpu_strict cpu_strict_batch ctx_checkpoints ctx_size
    dry_allowed_length dry_penalty_last_n embd_normalize fit_ctx image_max_tokens image_min_tokens keep
    kv_unified_per_slot main_gpu mirostat models_max moe_cache_mib mtmd_batch_max_tokens n_cpu_ffn n_cpu_moe
    n_predict parallel poll poll_batch port predict prio prio_batch reasoning_budget repeat_last_n seed
    sleep_idle_seconds spec_draft_cpu_strict spec_draft_cpu_strict_batch spec_draft_n_cpu_moe spec_draft_n_max
    spec_draft_n_min spec_draft_poll spec_draft_poll_batch spec_draft_prio spec_draft_prio_batch spec_draft_threads
    spec_draft_threads_batch spec_ngram_map_k4v_min_hits spec_ngram_map_k4v_size_m spec_ngram_map_k4v_size_n
    spec_ngram_map_k_min_hits spec_ngram_map_k_size_m spec_ngram_map_k_size_n spec_ngram_mod_n_match
    spec_ngram_mod_n_max spec_ngram_mod_n_min spec_ngram_simple_min_hits spec_ngram_simple_size_m
    spec_ngram_simple_size_n sse_ping_interval threads threads_batch threads_http timeout top_k ubatch_size
    verbosity video_timestamp_interval yarn_orig_ctx
    """,
    number="""
    adaptive_decay adaptive_target dry_base dry_multiplier dynatemp_exp dynatemp_range frequency_penalty min_p
    mirostat_ent mirostat_lr presence_penalty repeat_penalty rope_freq_base rope_freq_scale rope_scale
    slot_prompt_similarity spec_draft_p_min spec_draft_p_split spec_synth_len temp top_n_sigma top_p typical_p
    video_fps xtc_probability xtc_threshold yarn_attn_factor yarn_beta_fast yarn_beta_slow yarn_ext_factor
    """,
    text="""
    api_key_file api_prefix chat_template chat_template_file control_vector control_vector_scaled cors_headers
    cors_methods cors_origins cpu_mask cpu_mask_batch cpu_range cpu_range_batch device dry_sequence_breaker
    fit_target gpu_layers grammar grammar_file host json_schema_file log_file log_prompts_dir logit_bias
    lookup_cache_dynamic lookup_cache_static lora lora_scaled mcp_servers_config media_path mmproj mmproj_device
    models_dir models_preset n_gpu_layers override_kv override_tensor path reasoning_budget_message reverse_prompt
    rpc sampler_seq samplers slot_save_path spec_draft_cpu_mask spec_draft_cpu_mask_batch spec_draft_cpu_range
    spec_draft_device spec_draft_ngl spec_draft_override_tensor spec_synth_rates spec_type ssl_cert_file
    ssl_key_file tags tensor_split tools tools_runtime ui_config_file video_ffmpeg_dir
    """,
    switch="""
    backend_sampling check_tensors cpu_moe embedding embeddings ignore_eos log_disable lora_init_without_apply
    metrics no_host offline props rerank reranking reuse_port spec_default spec_draft_cpu_moe special spm_infill
    swa_full verbose
    """,
    reversible="""
    agent cache_idle_slots cache_prompt cont_batching context_shift cors_credentials escape jinja kv_offload
    kv_unified log_jsonl log_prefix log_timestamps mmproj_auto mmproj_offload models_autoload op_offload perf
    prefill_assistant reasoning_preserve repack skip_chat_parsing slots spec_draft_backend_sampling ui ui_mcp_proxy
    warmup webui
    """,
    json="chat_template_kwargs json_schema mcp_servers_json ui_config",
    words="control_vector_layer_range",
)
_CHOSEN: Final = chosen(
    cache_type_k=_CACHE,
    cache_type_v=_CACHE,
    fit="on off",
    flash_attn=_THREE,
    lazy_mode=_THREE,
    load_mode="auto none mmap mlock mmap+mlock dio",
    log_colors=_THREE,
    numa="distribute isolate numactl",
    pooling="none mean cls last rank",
    reasoning=_THREE,
    reasoning_effort="default minimal low medium high xhigh max",
    reasoning_format="none deepseek deepseek-legacy auto",
    rope_scaling="none linear yarn",
    spec_draft_sampling="greedy probabilistic",
    spec_draft_type_k=_CACHE,
    spec_draft_type_v=_CACHE,
    split_mode="none layer row tensor",
)

OPTIONS: Final[Mapping[str, Option]] = _KNOWN | _CHOSEN
OTHER_OPTIONS: Final = names(
    """
    cache_type_k_draft cache_type_v_draft defrag_thold direct_io log_verbose log_verbosity mlock mmap no_direct_io
    no_mmap sampling_seq temperature top_nsigma typical
    """
)
"""Second names, and options that other releases take.

Second names: tools/server/README.md at 00dc8057. mmap, mlock and direct_io: common/arg.cpp until load_mode replaced
them (ggml-org/llama.cpp pull request 20834); builds from b10884 on refuse them (tscibilia/home-ops pull request 3804).
"""
