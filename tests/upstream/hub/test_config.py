"""What is kept of config.json. Names are those of transformers' classes; the numbers are invented."""

from __future__ import annotations

import pytest

from sparkiac.upstream.hub import config

BY_FAMILY = {
    "qwen3_next": "full_attention_interval linear_num_key_heads linear_num_value_heads linear_key_head_dim "
    "linear_value_head_dim linear_conv_kernel_dim num_experts shared_expert_intermediate_size mtp_num_hidden_layers",
    "gemma3": "sliding_window sliding_window_pattern _sliding_window_pattern layer_types head_dim",
    "gemma4": "global_head_dim num_global_key_value_heads num_kv_shared_layers attention_k_eq_v top_k_experts",
    "nemotron_h": "hybrid_override_pattern layers_block_type ssm_state_size mamba_num_heads mamba_head_dim n_groups "
    "conv_kernel expand chunk_size mamba_ssm_cache_dtype moe_shared_expert_intermediate_size moe_latent_size",
    "deepseek_v3": "kv_lora_rank q_lora_rank qk_rope_head_dim qk_nope_head_dim v_head_dim n_routed_experts "
    "num_nextn_predict_layers first_k_dense_replace",
    "deepseek_v4": "compress_ratios compress_rates index_topk index_head_dim index_n_heads o_lora_rank",
    "gpt_oss": "num_local_experts num_experts_per_tok sliding_window rope_scaling rope_parameters",
    "minimax": "attn_type_list num_local_experts num_mtp_modules",
    "glm4_moe": "n_routed_experts n_shared_experts moe_intermediate_size num_mtp_layers",
    "falcon_h1": "mamba_d_ssm mamba_n_heads mamba_d_head mamba_n_groups mamba_d_state mamba_d_conv mamba_expand",
    "kimi_linear": "linear_attn_config linear_num_heads linear_head_dim",
    "lfm2": "conv_L_cache full_attn_idxs layer_types",
}


@pytest.mark.parametrize("family", BY_FAMILY)
def test_a_family_keeps_the_names_that_its_state_is_computed_from(family: str) -> None:
    said = dict.fromkeys(BY_FAMILY[family].split(), 1)

    assert config.facts({"model_type": family, **said, "initializer_range": 0.02}) == {"model_type": family, **said}


def test_sections_stay_nested_as_they_are() -> None:
    said = {
        "text_config": {"hidden_size": 64, "rms_norm_eps": 1e-6, "dtype": "bfloat16"},
        "vision_config": {"depth": 2, "patch_size": 16, "image_size": [448, 448], "hidden_act": "gelu"},
        "thinker_config": {"audio_config": {"d_model": 32, "dropout": 0}, "text_config": {"head_dim": 8}},
        "token_config": {"pad": 0},
    }

    assert config.facts(said) == {
        "text_config": {"hidden_size": 64, "dtype": "bfloat16"},
        "vision_config": {"depth": 2, "patch_size": 16, "image_size": (448, 448)},
        "thinker_config": {"audio_config": {"d_model": 32}, "text_config": {"head_dim": 8}},
    }


def test_of_quantisation_the_long_lists_are_left_out() -> None:
    said = {
        "quant_method": "compressed-tensors",
        "format": "nvfp4-pack-quantized",
        "kv_cache_scheme": {"num_bits": 8, "type": "float"},
        "ignore": ["lm_head"] * 500,
        "config_groups": {"group_0": {}},
    }

    kept = {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}
    assert config.facts({"quantization_config": said}) == {
        "quantization_config": {**kept, "kv_cache_scheme": {"num_bits": 8, "type": "float"}}
    }


def test_the_quantisation_inside_a_section_is_kept_too() -> None:
    said = {"text_config": {"quantization_config": {"quant_method": "fp8", "modules_to_not_convert": ["lm_head"]}}}

    assert config.facts(said) == {"text_config": {"quantization_config": {"quant_method": "fp8"}}}


def test_a_null_says_that_there_is_none_and_is_kept() -> None:
    assert config.facts({"q_lora_rank": None, "bos_token_id": None}) == {"q_lora_rank": None}


@pytest.mark.parametrize("odd", [{}, {"text_config": None}, {"text_config": 3}, {"quantization_config": "fp8"}])
def test_a_section_of_another_form_is_left_out(odd: dict[str, object]) -> None:
    assert config.facts(odd) == {}
