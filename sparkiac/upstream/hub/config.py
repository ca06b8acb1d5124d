"""The facts of a model's config.json that the memory check needs.

The keys are those of transformers 5.23 and of older checkpoints. Where one fact has several keys, each key is kept as
the file has it. Null is kept too: in `q_lora_rank` or `sliding_window` it means that the model has none.
"""

from __future__ import annotations

from typing import Any, Final

_MODEL: Final = """
architectures model_type dtype torch_dtype vocab_size tie_word_embeddings max_position_embeddings
original_max_position_embeddings max_sequence_length n_positions max_target_positions model_max_length rope_scaling
rope_parameters rope_theta
"""
_LAYERS: Final = """
hidden_size num_hidden_layers num_layers n_layer depth layer_types layers_block_type hybrid_override_pattern
hybrid_layer_pattern full_attention_interval attn_type_list attn_layer_indices attn_layer_period attn_layer_offset
full_attn_idxs num_kv_shared_layers per_layer_config block_configs hidden_size_per_layer_input
vocab_size_per_layer_input d_model encoder_layers decoder_layers
"""
_ATTENTION: Final = """
num_attention_heads num_heads n_head num_key_value_heads head_dim global_head_dim num_global_key_value_heads
attention_k_eq_v sliding_window sliding_window_size sliding_window_pattern _sliding_window_pattern use_sliding_window
max_window_layers attention_chunk_size swa_head_dim swa_num_attention_heads swa_num_key_value_heads
num_sliding_attention_heads attention_other_setting encoder_attention_heads decoder_attention_heads
"""
_LATENT: Final = """
kv_lora_rank q_lora_rank o_lora_rank qk_rope_head_dim qk_nope_head_dim v_head_dim index_topk index_head_dim
index_n_heads index_topk_freq index_topk_pattern index_skip_topk_offset indexer_types index_kpool indexer_n_heads
indexer_kv_heads indexer_head_dim indexer_compress_ratio index_block_size compress_ratios compress_rates
compress_rate_csa compress_rate_hca o_groups hc_mult num_hash_layers
"""
_STATE: Final = """
linear_num_key_heads linear_num_value_heads linear_key_head_dim linear_value_head_dim linear_conv_kernel_dim
linear_num_heads linear_head_dim linear_attn_config conv_L_cache conv_kernel ssm_state_size state_size d_state d_conv
n_groups expand chunk_size
"""
_EXPERTS: Final = """
intermediate_size num_experts n_routed_experts num_local_experts num_experts_per_tok top_k_experts n_shared_experts
moe_intermediate_size shared_expert_intermediate_size moe_shared_expert_intermediate_size shared_intermediate_size
intermediate_size_mlp ple_layer_ids engram_layer_ids moe_latent_size first_k_dense_replace moe_layer_freq
mlp_only_layers mlp_layer_types decoder_sparse_step interleave_moe_layer_step
"""
_DRAFT: Final = """
num_nextn_predict_layers num_mtp_layers num_mtp_modules mtp_num_hidden_layers mtp_num_layers mtp_layers_block_type
mtp_layer_types mtp_hybrid_override_pattern draft_vocab_size block_size num_target_layers
"""
_SENSES: Final = """
patch_size image_size spatial_merge_size temporal_patch_size out_hidden_size embed_dim num_position_embeddings
position_embedding_size pooling_kernel_size mm_tokens_per_image max_source_positions num_mel_bins
"""
_QUANTIZATION: Final = """
quant_method quant_algo kv_cache_scheme kv_cache_quant_algo format bits weight_bits group_size weight_block_size fmt
scale_fmt activation_scheme producer
"""
KEPT: Final = frozenset(f"{_MODEL} {_LAYERS} {_ATTENTION} {_LATENT} {_STATE} {_EXPERTS} {_DRAFT} {_SENSES}".split())
"""Keys that are kept with their whole value, at the top and in every section."""
KEPT_OF_QUANTIZATION: Final = frozenset(_QUANTIZATION.split())
"""Keys that are kept of a quantization; the long list of layers that are not quantized is left out."""
_MAMBA: Final = "mamba_"
"""Keys with this prefix describe the recurrent state of Mamba layers; all of them are kept."""
_SECTION: Final = ("_config", "_cfg")
_QUANTIZATIONS: Final = frozenset({"quantization_config", "quantization", "compression_config"})


def facts(config: dict[str, Any]) -> dict[str, object]:
    """Return the kept keys of a config.json with their nesting; lists become tuples, as in a lock that is read."""
    kept: dict[str, object] = {}
    for key, value in config.items():
        if key in KEPT or key.startswith(_MAMBA):
            kept[key] = _tupled(value)
        elif isinstance(value, dict) and (section := _section(key, value)):
            kept[key] = section
    return kept


def _section(key: str, value: dict[str, Any]) -> dict[str, object]:
    if key in _QUANTIZATIONS:
        return {name: _tupled(each) for name, each in value.items() if name in KEPT_OF_QUANTIZATION}
    return facts(value) if key.endswith(_SECTION) else {}


def _tupled(value: Any) -> object:  # noqa: ANN401  JSON holds anything
    if isinstance(value, dict):
        return {key: _tupled(inner) for key, inner in value.items()}
    return tuple(map(_tupled, value)) if isinstance(value, list) else value
