"""All options of SGLang's server, version 0.5.23, as its argument fields declare them.

Without those that a key of the inventory says: model, names, API keys, drafter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.engines.engine import chosen, known, names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.engines.engine import Option

_ATTENTION: Final = """
    triton torch_native flex_attention dsa nsa qsa dsv4 compressed fa3 fa4 flashinfer llada2_cfg_flashinfer flashmla
    trtllm_mla cutedsl_mla tokenspeed_mla trtllm_mha hpc_ops minicpm_flashattn minicpm_flashinfer aiter wave
    intel_amx ascend intel_xpu
"""
_QUANTIZATION: Final = """
    awq fp8 mxfp8 gptq gptq_marlin awq_marlin bitsandbytes gguf modelopt modelopt_fp8 modelopt_fp4 nvfp4_online
    modelopt_mixed petit_nvfp4 w8a8_int8 w8a8_fp8 moe_wna16 w4afp8 mxfp4 auto-round auto-round-int8
    compressed-tensors modelslim mxfp_w4a8 quark quark_int4fp8_moe quark_mxfp4 mlx_q4 mlx_q8 unquant humming
"""

_CHOSEN: Final = chosen(
    attention_backend=_ATTENTION,
    cuda_graph_backend_decode="full breakable disabled",
    cuda_graph_backend_prefill="full breakable disabled",
    decode_attention_backend=_ATTENTION,
    disaggregation_mode="null prefill decode",
    disaggregation_transfer_backend="mooncake nixl ascend fake mori mooncake_tcp",
    dtype="auto half float16 bfloat16 float float32",
    fp4_gemm_backend="auto flashinfer_cudnn flashinfer_cutedsl flashinfer_cutlass flashinfer_trtllm marlin",
    fp8_gemm_backend="""
    auto deep_gemm flashinfer_trtllm flashinfer_cutlass flashinfer_deepgemm flashinfer_cutedsl cutlass triton aiter
    """,
    grammar_backend="xgrammar outlines llguidance none",
    kv_cache_dtype="auto fp8_e5m2 fp8_e4m3 mxfp8 bf16 bfloat16 nvfp4 fp4_mx_block16",
    load_balance_method="auto round_robin follow_bootstrap_room total_requests total_tokens",
    load_format="""
    auto pt safetensors instanttensor npcache dummy sharded_state presharded gguf expert_pack bitsandbytes mistral
    layered flash_rl remote remote_instance fastsafetensors private runai_streamer
    """,
    mm_attention_backend="sdpa fa3 fa4 triton_attn ascend_attn aiter_attn flashinfer_cudnn amx_attn xpu_attn",
    moe_a2a_backend="""
    none deepep mooncake nixl mori ascend_fuseep flashinfer megamoe deepep_v2 pplx ascend_tp flashinfer_megamoe
    """,
    moe_runner_backend="""
    auto deep_gemm triton triton_kernel flashinfer_trtllm experimental_sgl_trtllm flashinfer_trtllm_routed
    flashinfer_cutlass flashinfer_mxfp4 flashinfer_cutedsl flashinfer_megamoe cutlass aiter marlin humming
    experimental_sgl_marlin lora_cutedsl lora_triton lora_marlin hpc_ops megamoe intel_xpu
    """,
    prefill_attention_backend=_ATTENTION,
    quantization=_QUANTIZATION,
    radix_eviction_policy="lru lfu slru priority tlru",
    reasoning_parser="""
    auto apertus2509 beam deepseek-r1 deepseek-v3 deepseek-v4 deepseek-v41 dots glm45 ling3 hunyuan gpt-oss
    k2_horizon kimi kimi_k2 kimi_k3 mimo muse poolside_v1 qwen3 qwen3-thinking minimax minimax-append-think
    minimax-m3 nanbeige step3 step3p5 mistral nemotron_3 granite_thinking_parser interns1 gemma4 inkling iquest_q1
    cohere_command4 gigachat35 response_template
    """,
    sampling_backend="flashinfer pytorch ascend intel_xpu",
    sampling_defaults="openai model",
    schedule_policy="lpm random fcfs dfs-weight lof priority routing-key hrrn shortest-prefill-first",
    speculative_attention_mode="prefill decode",
    speculative_draft_kv_cache_dtype="auto fp8_e5m2 fp8_e4m3 bf16 bfloat16",
    speculative_draft_model_quantization=_QUANTIZATION,
    tokenizer_backend="huggingface fastokens",
    tokenizer_mode="auto slow",
    tool_call_parser="""
    auto apertus2509 beam cohere_command4 deepseekv3 deepseekv31 deepseekv32 deepseekv4 deepseekv41 dots glm glm45
    glm47 gpt-oss k2_horizon kimi_k2 kimi_k3 lfm2 ling3 llama3 mimo minicpm5 mistral muse poolside_v1 pythonic qwen
    qwen25 qwen3_coder spark25 step3 step3p5 minimax-m2 minimax-m3 nanbeige trinity interns1 hermes hunyuan
    gigachat3 gigachat35 gemma4 inkling iquest_q1 response_template
    """,
)
_KNOWN: Final = known(
    integer="""
    asr_max_buffer_seconds asr_max_concurrent_sessions attn_cp_size attn_dp_size base_gpu_id batch_notify_size
    c128_page_size chunked_prefill_size constrained_json_max_whitespace_cnt context_length cpu_offload_gb
    cuda_graph_max_bs_decode cuda_graph_max_bs_prefill cuda_graph_max_seq_len_prefill cuda_graph_prefill_max_context
    dcp_size decode_log_interval decoupled_spec_rank default_priority_value detokenizer_worker_num
    disaggregation_bootstrap_port disaggregation_decode_extra_slots disaggregation_decode_polling_interval
    dist_timeout dp_size dsa_triton_union dwdp_size dynamic_batch_tokenizer_batch_size elastic_ep_initial_size
    elastic_ep_join_rank_offset encoder_bootstrap_port engine_info_bootstrap_port ep_num_redundant_experts ep_size
    eplb_rebalance_layers_per_chunk eplb_rebalance_num_iterations expert_distribution_recorder_buffer_size
    fuseep_mode gated_launch_port gpu_id_step grpc_port grpc_response_timeout_secs hicache_size
    hicache_storage_prefetch_retry_max_attempts hicache_storage_prefetch_retry_poll_interval
    http2_initial_connection_window_size http2_max_concurrent_streams int8_mamba_ckpt_size kt_cpuinfer
    kt_max_deferred_experts_per_token kt_num_gpu_experts kt_threadpool_count kv_canary_sweep_interval
    linear_replayssm_cache_len load_snapshot_publish_interval log_requests_level mamba_cache_philox_rounds
    mamba_max_states_per_path mamba_track_interval max_ep_size max_loaded_loras max_lora_chunk_size max_lora_rank
    max_loras_per_batch max_mamba_cache_size max_prefill_tokens max_queued_requests max_running_requests
    max_total_tokens media_url_max_file_size_mb min_free_slots_delay mm_io_worker_num mm_preprocess_cache_size_mb
    mm_processor_worker_num moe_dense_tp_size moe_dp_size nccl_port nnodes node_rank num_continuous_decode_steps
    num_reserved_decode_tokens offload_group_size offload_num_in_group offload_prefetch_step
    optimistic_prefill_attempts page_size paged_experts_num_resident port pp_async_batch_depth
    pp_max_micro_batch_size pp_size prefill_decode_interval prefill_decode_interval_min_bs
    prefill_delayer_max_delay_passes prefill_max_requests priority_scheduling_preemption_threshold random_seed
    remote_instance_weight_loader_seed_instance_service_port sampling_mask_max_tokens scheduler_recv_interval
    shared_experts_tp_size sm_group_num smg_http_sidecar_port speculative_dflash_block_size
    speculative_domino_candidate_pool_size speculative_draft_sink_size speculative_draft_window_size
    speculative_dspark_block_size speculative_eagle_topk speculative_ngram_capacity
    speculative_ngram_external_corpus_max_tokens speculative_ngram_external_sam_budget
    speculative_ngram_max_bfs_breadth speculative_ngram_max_trie_depth speculative_ngram_min_bfs_breadth
    speculative_num_draft_tokens speculative_num_steps stream_interval swa_prefix_tails tokenizer_worker_num
    torch_compile_max_bs tp_size triton_attention_num_kv_splits triton_attention_split_tile_size
    weight_cache_timeout weight_loader_prefetch_num_threads
    """,
    number="""
    disaggregation_decode_host_receive_threshold dynamic_batch_tokenizer_batch_timeout elastic_ep_scale_timeout
    eplb_min_rebalancing_utilization_threshold gc_warning_threshold_secs hicache_host_memory_fraction hicache_ratio
    lora_drain_wait_threshold mamba_full_memory_ratio mem_fraction_static prefill_delayer_max_delay_ms
    prefill_delayer_queue_min_ratio prefill_delayer_token_usage_low_watermark schedule_conservativeness
    soft_watchdog_timeout speculative_accept_threshold_acc speculative_accept_threshold_single swa_full_tokens_ratio
    tbo_token_distribution_threshold watchdog_timeout
    """,
    text="""
    bf16_gemm_backend boundary_reduction chat_template completion_template config
    constrained_json_whitespace_pattern cp_strategy crash_dump_folder cuda_graph_config dcp_comm_backend
    debug_tensor_dump_input_file debug_tensor_dump_output_folder decoupled_spec_bind_endpoint decoupled_spec_role
    decrypted_config_file decrypted_draft_config_file deepep_config deepep_dispatcher_output_dtype deepep_mode
    deepep_v2_mode device disaggregation_decode_allocation_policy disaggregation_decode_retraction_backup
    disaggregation_ib_device dist_init_addr dllm_algorithm dllm_algorithm_config download_dir dsa_decode_backend
    dsa_paged_mqa_logits_backend dsa_prefill_backend dsa_topk_backend dsv4_attn_backend dsv4_prefill_backend
    elastic_ep_backend elastic_ep_join_mode encoder_transfer_backend ep_dispatch_algorithm eplb_algorithm
    expert_balancedness_report_mode expert_distribution_recorder_mode export_metrics_to_file_dir fastapi_root_path
    file_storage_path flashinfer_a2a_dispatch_type flashinfer_allreduce_fusion_backend
    flashinfer_mxfp4_moe_precision flexkv_config_file forward_pass_metrics_ipc_name forward_pass_metrics_worker_id
    hf_chat_template_name hicache_host_memory_mode hicache_io_backend hicache_mem_layout hicache_storage_backend
    hicache_storage_backend_extra_config hicache_storage_prefetch_policy hicache_write_policy hisparse_config host
    image_processor_backend init_expert_location kt_method kt_weight_path kv_canary kv_canary_real_data
    kv_events_config linear_attn_backend linear_attn_decode_backend linear_attn_prefill_backend
    linear_attn_verify_backend lmcache_config_file load_publish_endpoint log_level log_level_http
    log_requests_format lora_backend lora_eviction_policy mamba_backend mamba_radix_cache_strategy mamba_ssm_dtype
    mm_feature_transport mm_global_cache_backend model_checksum model_config_parser model_impl modelexpress_config
    modelopt_checkpoint_restore_path modelopt_checkpoint_save_path modelopt_export_path modelopt_quant
    monokernel_backend mooncake_ib_device msprobe_dump_config offload_mode otlp_service_name otlp_traces_endpoint
    pdmux_config_path ple_offload_backend ple_offload_dir prefill_kv_cache_dequant_dtype qsa_indexer_dtype
    quantization_param_path radix_cache_backend remote_instance_weight_loader_backend
    remote_instance_weight_loader_seed_instance_ip retraction_policy return_hidden_states_mode revision
    rl_on_policy_target rl_quant_profile sidecar spec_trace_dir speculative_adaptive_config
    speculative_draft_attention_backend speculative_draft_load_format speculative_draft_model_revision
    speculative_dsa_topk_backend speculative_dspark_confidence_sts_path speculative_dspark_sps_table_path
    speculative_moe_a2a_backend speculative_moe_runner_backend speculative_ngram_external_corpus_path
    speculative_ngram_match_type speculative_token_map ssl_ca_certs ssl_certfile ssl_keyfile ssl_keyfile_password
    startup_weight_load_mode tokenizer_metrics_custom_labels_header tokenizer_path tool_server trace_modules
    unified_cache_external_linker_backend uno_lora_path warmups watermark_config weight_cache_mode
    weight_cache_socket weight_version
    """,
    switch="""
    abort_on_priority_when_disabled allow_auto_truncate checkpoint_engine_wait_weights_before_ready
    constrained_json_disable_any_whitespace debug_cuda_graph delete_ckpt_after_loading
    disable_aiter_allreduce_fusion_in_decode disable_aiter_allreduce_fusion_in_prefill disable_attn_tp_gather
    disable_chunked_prefix_cache disable_cuda_graph disable_cuda_graph_padding disable_custom_all_reduce
    disable_decode_cuda_graph disable_fast_image_processor disable_flashinfer_autotune
    disable_flashinfer_cutlass_moe_fp4_allgather disable_hybrid_swa_memory disable_outlines_disk_cache
    disable_overlap_schedule disable_prefill_cuda_graph disable_priority_preemption disable_radix_cache
    disable_shared_experts_fusion disable_tokenizer_batch_decode disaggregation_decode_enable_offload_kvcache
    disaggregation_decode_enable_radix_cache disaggregation_enable_kv_checksum enable_adaptive_dispatch_to_encoder
    enable_aiter_allreduce_fusion enable_amd_monokernel enable_attn_tp_input_scattered
    enable_broadcast_mm_inputs_process enable_cache_report enable_cp_decode_attn_tp enable_cudagraph_gc
    enable_custom_logit_processor enable_deepseek_v4_fp4_indexer enable_dense_mlp_attn_tp
    enable_deterministic_inference enable_dp_attention enable_dp_attention_local_control_broadcast enable_dp_lm_head
    enable_draft_weights_cpu_backup enable_dsa_cache_layer_split enable_dynamic_batch_tokenizer
    enable_dynamic_chunking enable_elastic_expert_backup enable_encoder_swa_bounded_replay enable_eplb
    enable_flashinfer_allreduce_fusion enable_flexkv enable_forward_pass_metrics enable_fp32_lm_head
    enable_fused_moe_sum_all_reduce enable_hierarchical_cache enable_hisparse enable_http2
    enable_http_worker_reuseport enable_int8_mamba_checkpoint enable_kv_cache_sharding enable_layernorm_sp
    enable_layerwise_nvtx_marker enable_lean_attention enable_linear_replayssm enable_linear_replayssm_spec
    enable_linker_mla_dedup enable_lmcache enable_lora enable_lora_overlap_loading
    enable_mamba_cache_stochastic_rounding enable_megamoe_for_layernorm_sp enable_memory_saver enable_metrics
    enable_metrics_for_all_schedulers enable_mfu_metrics enable_mis enable_mixed_chunk enable_mm_global_cache
    enable_mscclpp enable_multi_layer_eagle enable_multimodal enable_nccl_nvls enable_nvidia_megakernel
    enable_p2p_check enable_page_major_kv_layout enable_paged_experts enable_pd_role_switch enable_pdmux
    enable_precise_embedding_interpolation enable_prefill_cp enable_prefill_delayer enable_prefix_mm_cache
    enable_priority_scheduling enable_profile_cuda_graph enable_quant_communications
    enable_request_time_stats_logging enable_response_store enable_return_aux_hidden_states
    enable_return_hidden_states enable_return_indexer_topk enable_return_routed_experts enable_scattered_sconv
    enable_session_radix_cache enable_shared_experts_attn_tp enable_single_batch_overlap enable_ssl_refresh
    enable_streaming_session enable_strict_thinking enable_symm_mem enable_tokenizer_batch_encode
    enable_torch_compile enable_torch_compile_debug_mode enable_torch_symm_mem enable_trace enable_two_batch_overlap
    enable_unified_cache_external_linker enable_unified_memory enable_w4a4_mxfp4_megamoe enable_waterfill
    enable_watermark enable_weights_cpu_backup encoder_only enforce_disable_flashinfer_allreduce_fusion
    enforce_shared_experts_fusion export_metrics_to_file flashinfer_mla_disable_ragged grpc_mode
    incremental_streaming_output is_embedding language_model_only language_only log_requests
    lora_use_virtual_experts mlx_enable_sampling pre_warm_nccl prefill_only_disable_kv_cache quantize_and_serve
    remote_instance_weight_loader_start_seed_via_transfer_engine return_input_ids return_output_ids
    schedule_low_priority_values_first show_time_cost skip_server_warmup skip_tokenizer_init sleep_on_idle
    smg_grpc_mode speculative_adaptive speculative_dspark_align_verify_tokens_to_graph_tier
    speculative_use_block_verification speculative_use_rejection_sampling stream_response_default_include_usage
    strip_thinking_cache triton_attention_reduce_in_fp32 trust_mm_content_hashes trust_remote_code
    trust_request_chat_template use_ray weight_loader_disable_mmap weight_loader_drop_cache_after_load
    weight_loader_prefetch_checkpoints
    """,
    reversible="""
    dcp_replicate_q_proj dllm_fdfo enable_decoder_swa_bounded_replay enable_dsa_fused_indexer
    enable_fused_qk_norm_rope enable_tf32_matmul enable_tp_lm_head_all_to_all experts_shared_outer_loras
    lora_strict_loading mm_enable_dp_encoder ple_offload_embedding speculative_enable_w4a4_mxfp4_megamoe
    """,
    json="""
    decoupled_spec_connect_endpoints default_chat_template_kwargs extra_metric_labels forward_hooks
    json_model_override_args limit_mm_data_per_request mm_process_config model_loader_extra_config
    preferred_sampling_params radix_eviction_policy_config remote_instance_weight_loader_send_weights_group_ports
    sidecar_args unified_cache_external_linker_config
    """,
    words="""
    allowed_media_domains bucket_e2e_request_latency bucket_inter_token_latency bucket_time_to_first_token
    cuda_graph_bs_decode cuda_graph_bs_prefill custom_weight_loader debug_tensor_dump_layers encoder_register_urls
    encoder_urls flashinfer_autotune_skip_ops gc_threshold generation_tokens_buckets log_requests_target lora_paths
    lora_target_modules numa_node prefill_delayer_forward_passes_buckets prefill_delayer_wait_seconds_buckets
    prompt_tokens_buckets return_aux_hidden_state_layer_ids tokenizer_metrics_allowed_custom_labels
    uvicorn_access_log_exclude_prefixes
    """,
)

_ALIASES: Final = known(
    integer="""
    attention_context_parallel_size attention_data_parallel_size context_bucket data_parallel_size
    decode_context_parallel_size ep expert_parallel_size grpc_http_sidecar_port moe_data_parallel_size
    pipeline_parallel_size tensor_parallel_size
    """,
    text="hierarchical_sparse_attention_extra_config nccl_init_addr",
    switch="enable_hicache",
)
"""Second names of options."""

OPTIONS: Final[Mapping[str, Option]] = _KNOWN | _CHOSEN | _ALIASES
OTHER_OPTIONS: Final = names(
    """
    collect_tokens_histogram cuda_graph_bs cuda_graph_max_bs custom_sigquit_handler debug_tensor_dump_inject
    disable_hicache_numa_detect disable_piecewise_cuda_graph disaggregation_decode_dp disaggregation_decode_tp
    disaggregation_prefill_pp ds_channel_config_path ds_heavy_channel_num ds_heavy_channel_type ds_heavy_token_num
    ds_sparse_decode_threshold dsa_prefill_cp_mode enable_breakable_cuda_graph enable_double_sparsity
    enable_dsa_prefill_context_parallel enable_expert_distribution_metrics enable_gdn_replayssm_spec
    enable_nan_detection enable_nsa_prefill_context_parallel enable_piecewise_cuda_graph
    enable_prefill_context_parallel enforce_piecewise_cuda_graph
    hybrid_kvcache_ratio keep_mm_feature_on_device mamba_scheduler_strategy mm_max_concurrent_calls
    mm_per_request_timeout multi_item_scoring_delimiter nsa_decode_backend nsa_prefill_backend nsa_prefill_cp_mode
    piecewise_cuda_graph_compiler piecewise_cuda_graph_max_tokens piecewise_cuda_graph_tokens prefill_cp_mode
    prefill_round_robin_balance speculative_dflash_draft_window_size speculative_ngram_branch_length
    speculative_ngram_max_match_window_size speculative_ngram_min_match_window_size stream_output torchao_config
    """
)
"""Options that 0.5.23 lacks, and that server_args.py of sglang 0.5.9, 0.5.14 or 0.5.18 adds to its parser.

mamba_scheduler_strategy is mamba_radix_cache_strategy since 0.5.14, which takes both names.
"""
