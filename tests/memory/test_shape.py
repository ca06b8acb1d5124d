"""What real configurations say, and that what is not understood is named and not guessed."""

from __future__ import annotations

from typing import Any, Final

import pytest

from sparkiac.memory import shape
from sparkiac.memory.kv import Format, kv_format
from sparkiac.memory.layers import Attention, Latent, Linear, Mamba2, Shape, Vision, Width, shape_of
from sparkiac.memory.values import Unknown
from sparkiac.model.facts import Architecture
from tests.memory.known import QWEN, configs, network, told

DENSE = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 256}
HEADS = {**DENSE, "num_key_value_heads": 4, "head_dim": 64}


def test_gated_deltanet_and_attention_alternate_as_the_configuration_lists_them() -> None:
    found = network(QWEN)
    full = Attention(kv_heads=2, head_size=256, value_size=256)
    assert found.layers[:4] == (Linear(16, 32, 128, 128, 4),) * 3 + (full,)
    assert (len(found.layers), found.layers.count(full), found.drafts) == (40, 10, (full,))
    assert (found.context, found.state_dtype, found.kv_dtype, found.encoders) == (262_144, "float32", None, ("vision",))
    assert found.width == Width(2048, 248_320, None, 512, 256, 8, 40)
    assert found.hybrid


def test_an_interval_stands_in_for_a_list_of_layers() -> None:
    found = network("Qwen/Qwen3-Coder-Next")
    assert [isinstance(layer, Attention) for layer in found.layers[:8]] == [False, False, False, True] * 2
    assert found.state_dtype is None


def test_mamba_experts_and_attention_are_read_from_a_pattern_of_letters() -> None:
    found = network("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4")
    assert found.layers[:4] == (Mamba2(128, 64, 8, 128, 4), None) * 2
    assert (len(found.layers), found.layers.count(None), found.width.expert_layers) == (88, 40, 40)
    assert found.drafts == (Attention(2, 128, 128),)


def test_a_list_of_blocks_stands_in_for_the_pattern() -> None:
    found = network("nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4")
    assert (len(found.layers), found.layers.count(None)) == (52, 23)


def test_a_model_with_mamba_keeps_its_states_in_float32_unless_it_says_otherwise() -> None:
    nano = {**configs()["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4"]}
    nano.pop("mamba_ssm_cache_dtype")
    found = shape.read(nano)
    assert isinstance(found, Shape)
    assert found.state_dtype == "float32"


def test_windows_and_whole_context_have_heads_of_their_own() -> None:
    assert set(network("google/gemma-4-26B-A4B").layers) == {Attention(8, 256, 256, 1024), Attention(2, 512, 512)}
    assert set(network("XiaomiMiMo/MiMo-V2-Flash").layers) == {Attention(8, 192, 128, 128), Attention(4, 192, 128)}
    assert set(network("openai/gpt-oss-120b").layers) == {Attention(8, 64, 64, 128), Attention(8, 64, 64)}


def test_latent_attention_keeps_one_vector() -> None:
    found = network("deepseek-ai/DeepSeek-V3")
    assert set(found.layers) == {Latent(576)}
    assert found.drafts == (Latent(576),)
    assert found.width.expert_layers == 58


def test_a_model_without_a_window_in_use_sees_the_whole_context() -> None:
    assert set(network("mistralai/Mixtral-8x7B-v0.1").layers) == {Attention(8, 128, 128)}
    unused = shape.read({**HEADS, "model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": False})
    assert isinstance(unused, Shape)
    assert set(unused.layers) == {Attention(4, 64, 64)}


def test_a_window_without_a_list_holds_for_all_layers() -> None:
    found = shape.read({**HEADS, "model_type": "mistral", "sliding_window": 4096, "num_nextn_predict_layers": 1})
    assert isinstance(found, Shape)
    assert found.layers == (Attention(4, 64, 64, 4096),) * 2
    assert found.drafts == (Attention(4, 64, 64, 4096),)


def test_a_pattern_of_windows_ends_with_a_layer_for_the_whole_context() -> None:
    found = shape.read({**HEADS, "model_type": "gemma3_text", "sliding_window_pattern": 2, "sliding_window": 512})
    assert isinstance(found, Shape)
    assert found.layers == (Attention(4, 64, 64, 512), Attention(4, 64, 64))


def test_layers_that_share_the_cache_of_others_keep_nothing() -> None:
    kinds = {"layer_types": ["full_attention"] * 2, "global_head_dim": 64, "attention_k_eq_v": False}
    config = {**HEADS, **kinds, "model_type": "gemma4_text", "num_global_key_value_heads": None}
    found = shape.read({**config, "num_kv_shared_layers": 1})
    assert isinstance(found, Shape)
    assert found.layers == (Attention(4, 64, 64), None)


MEANT: Final = {
    "quantization_config": "the cache has 16 bits",
    "quantization_config.kv_cache_scheme": "the cache has 16 bits",
    "num_key_value_heads": "a llama has one for each query head, gemma3 the default of its class",
    "index_topk_freq": "each layer has an indexer",
    "index_skip_topk_offset": "the default of vLLM, 2",
}
"""Keys that mean something if they are absent."""


def _without(config: dict[str, Any], key: str) -> dict[str, Any]:
    section, _, name = key.rpartition(".")
    if not section:
        return {each: value for each, value in config.items() if each != name}
    return {**config, section: {each: value for each, value in config[section].items() if each != name}}


@pytest.mark.parametrize("handle", configs())
def test_a_key_that_changes_the_count_is_named_if_it_is_absent(handle: str) -> None:
    """Every key of every configuration: the same layers without it, or its name, or an absence that means something."""
    config = configs()[handle]
    keys = [*config, *(f"{name}.{key}" for name, held in config.items() if isinstance(held, dict) for key in held)]
    whole = network(handle)
    for key in keys:
        found = shape.read(_without(config, key))
        if isinstance(found, Unknown) or key.rpartition(".")[2] in {"text_config", "linear_attn_config"}:
            assert isinstance(found, Unknown)
            continue
        same = (found.layers, found.kv_dtype, found.state_dtype) == (whole.layers, whole.kv_dtype, whole.state_dtype)
        assert same or key in MEANT or key.removeprefix("text_config.") in MEANT, key


def test_the_missing_keys_of_a_hybrid_are_listed_by_name() -> None:
    config = {**DENSE, "model_type": "nemotron_h"}
    names = ("num_key_value_heads", "head_dim", "hybrid_override_pattern")
    assert shape.read(config) == Unknown(names)
    assert shape.read({**config, "num_key_value_heads": 2}) == Unknown(names[1:])


def test_defaults_of_a_class_stand_in_for_what_public_configurations_leave_out() -> None:
    """The published config.json of gemma-3-12b-it has no head_dim and no pattern, that of gemma-3-4b-it no heads."""
    config = configs()["google/gemma-3-12b-it"]
    text = {
        name: value
        for name, value in config["text_config"].items()
        if name not in {"head_dim", "sliding_window_pattern"}
    }
    assert shape.read({**config, "text_config": text}) == network("google/gemma-3-12b-it")
    text = {name: value for name, value in text.items() if not name.endswith("_heads")}
    found = shape.read({**config, "text_config": text})
    assert isinstance(found, Shape)
    assert found.layers[5] == Attention(4, 256, 256)


@pytest.mark.parametrize("family", ["deepseek_v41", "minimax_m3", "step3p7"])
def test_a_family_that_is_not_understood_is_named(family: str) -> None:
    assert shape.read({**DENSE, "model_type": family}) == Unknown((f"the layers of model type {family}",))


def test_kimi_delta_attention_is_read_by_the_numbers_of_its_layers() -> None:
    found = network("moonshotai/Kimi-K3")
    assert found.layers[:4] == (Linear(96, 96, 128, 128, 4, checkpoints=(0, 29)),) * 3 + (Latent(576),)
    assert (len(found.layers), found.layers.count(Latent(576)), found.state_dtype) == (93, 24, "float32")


def test_a_gate_without_a_bound_leaves_no_state_behind() -> None:
    text = configs()["moonshotai/Kimi-K3"]["text_config"]
    found = shape.read({**text, "linear_attn_config": {**text["linear_attn_config"], "gate_lower_bound": None}})
    assert isinstance(found, Shape)
    assert found.layers[0] == Linear(96, 96, 128, 128, 4)


def test_what_is_missing_of_a_section_is_named() -> None:
    text = configs()["moonshotai/Kimi-K3"]["text_config"]
    assert shape.read({**text, "linear_attn_config": {"kda_layers": [1]}}) == Unknown(
        ("num_heads", "head_dim", "short_conv_kernel_size")
    )


def test_chunks_are_kept_like_the_whole_context() -> None:
    assert set(network("meta-llama/Llama-4-Scout-17B-16E-Instruct").layers) == {Attention(8, 128, 128)}


def test_a_network_that_was_searched_for_has_layers_without_attention() -> None:
    found = network("nvidia/Llama-3_3-Nemotron-Super-49B-v1")
    assert set(found.layers) == {Attention(8, 128, 128), None}
    assert (len(found.layers), found.layers.count(None)) == (80, 31)


def test_attention_of_a_kind_that_vllm_has_not_is_not_guessed() -> None:
    blocks = [{"attention": {"n_heads_in_group": 2, "replace_with_linear": True}}] * 2
    found = shape.read({**DENSE, "model_type": "nemotron-nas", "block_configs": blocks})
    assert found == Unknown(("block_configs: attention of a kind that vLLM does not support",))


def test_a_configuration_without_a_family_is_not_understood() -> None:
    assert shape.read({}) == Unknown(("the layers of model type None",))
    assert shape.read({"model_type": {"a": []}}) == Unknown(("the layers of model type {'a': []}",))
    assert not shape.is_compared({"model_type": []})


def test_every_fact_that_is_missing_is_named_once() -> None:
    assert shape.read({"model_type": "llama", "num_hidden_layers": 3}) == Unknown(
        ("num_attention_heads", "hidden_size", "num_key_value_heads")
    )
    assert shape.read({"model_type": "llama"}) == Unknown(("num_hidden_layers",))


@pytest.mark.parametrize(
    "lists",
    [
        {"layer_types": ["full_attention", "strange_attention"]},
        {"layer_types": ["full_attention"]},
        {"hybrid_override_pattern": "*X"},
    ],
    ids=["kind", "count", "letter"],
)
def test_layers_of_an_unknown_kind_or_number_are_not_guessed(lists: dict[str, object]) -> None:
    assert shape.read({**DENSE, **lists}) == Unknown(("layer_types: the kind of each layer",))


def test_a_truth_value_is_not_a_count() -> None:
    assert shape.read({**DENSE, "num_hidden_layers": True}) == Unknown(("num_hidden_layers",))


@pytest.mark.parametrize(
    ("quantization", "dtype"),
    [
        ({"kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "fp8"),
        ({"kv_cache_scheme": {"num_bits": 4, "type": "float"}}, "nvfp4"),
        ({"kv_cache_scheme": {"num_bits": 8, "type": "int"}}, None),
        ({"kv_cache_scheme": None, "kv_cache_quant_algo": "fp8"}, "fp8"),
        ({"kv_cache_quant_algo": "FP8"}, "fp8"),
        ({"kv_cache_quant_algo": "NVFP4"}, "nvfp4"),
        ({"kv_cache_quant_algo": "INT4"}, None),
        ({"quantization": {"kv_cache_quant_algo": "FP8"}}, "fp8"),
        ({"quantization": "FP8"}, None),
        ({"quant_method": "fp8"}, None),
        ("fp8", None),
    ],
)
def test_a_checkpoint_may_ask_for_a_smaller_cache(quantization: object, dtype: str | None) -> None:
    found = shape.read({**DENSE, "quantization_config": quantization})
    assert isinstance(found, Shape)
    assert found.kv_dtype == dtype


def test_an_nvfp4_cache_is_granted_from_0_20_on() -> None:
    asked = Shape((Attention(1, 64, 64),), kv_dtype="nvfp4")
    assert kv_format(asked, told()) == Format(9, 16)
    assert kv_format(asked, told(release=(0, 19, 1))) == Format(2)
    assert kv_format(asked, told({"kv_cache_dtype": "nvfp4"}, release=(0, 19, 1))) == Format(9, 16)


def test_a_drafter_of_mtp_without_layers_of_attention_is_read_by_its_pattern() -> None:
    config = {**configs()["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4"], "num_nextn_predict_layers": 2}
    found = shape.read({**config, "mtp_hybrid_override_pattern": "*E"})
    assert isinstance(found, Shape)
    assert found.drafts == (Attention(2, 128, 128),) * 2


# -- counts of a recipe ------------------------------------------------------------------------------------


def test_counts_give_the_layers_in_an_even_order() -> None:
    found = shape_of(
        Architecture(
            full_attention_layers=1,
            sliding_window_layers=2,
            sliding_window=1024,
            kv_heads=2,
            head_size=512,
            sliding_window_kv_heads=8,
            sliding_window_head_size=256,
            experts=128,
            experts_per_token=8,
            mtp_layers=1,
        )
    )
    assert isinstance(found, Shape)
    window = Attention(8, 256, 256, 1024)
    assert found.layers == (window, window, Attention(2, 512, 512))
    assert found.drafts == (Attention(2, 512, 512),)
    assert found.width == Width(experts=128, experts_per_token=8, expert_layers=3)


def test_counts_and_configuration_of_one_model_agree() -> None:
    by_counts = shape_of(
        Architecture(
            full_attention_layers=18,
            sliding_window_layers=18,
            sliding_window=128,
            kv_heads=8,
            head_size=64,
            experts=128,
        )
    )
    assert isinstance(by_counts, Shape)
    assert by_counts.layers == network("openai/gpt-oss-120b").layers


@pytest.mark.parametrize(
    "counts",
    [
        Architecture(),
        Architecture(full_attention_layers=5, kv_heads=1, head_size=64, sliding_window_layers=3),
        Architecture(full_attention_layers=10, kv_heads=2, head_size=256, linear_attention_layers=30),
        Architecture(full_attention_layers=6, kv_heads=2, head_size=128, mamba_layers=23),
    ],
)
def test_where_counts_do_not_suffice_the_configuration_is_missing(counts: Architecture) -> None:
    assert shape_of(counts) == Unknown(("config.json",))


def test_a_network_without_experts_counts_none() -> None:
    found = shape_of(Architecture(full_attention_layers=2, kv_heads=1, head_size=64))
    assert isinstance(found, Shape)
    assert found.width == Width()
    assert not found.hybrid


@pytest.mark.parametrize(
    ("told", "vision"),
    [
        ({"hidden_size": 1152, "intermediate_size": 4304, "spatial_merge_size": 2}, Vision(1152, 4304, 4, 16_384)),
        (
            {
                "hidden_size": 1024,
                "intermediate_size": 4096,
                "spatial_merge_size": 2,
                "image_size": 1540,
                "patch_size": 14,
            },
            Vision(1024, 4096, 4, 3025),
        ),
        ({"hidden_size": 768, "intermediate_size": 3072, "pooling_kernel_size": 3}, Vision(768, 3072, 9, 0)),
        ({"hidden_size": 768}, None),
        ({}, None),
    ],
)
def test_the_encoder_of_images_by_its_sizes(told: dict[str, Any], vision: Vision | None) -> None:
    found = shape.read({**configs()["google/gemma-3-12b-it"], "mm_tokens_per_image": None, "vision_config": told})
    assert isinstance(found, Shape)
    assert found.vision == vision


def test_images_of_a_fixed_number_of_tokens() -> None:
    assert network("google/gemma-3-12b-it").vision == Vision(1152, 4304, 16, 256)


def test_the_class_of_a_checkpoint_and_whether_it_is_quantized() -> None:
    dense, quantized = network("Qwen/Qwen3-8B"), network("openai/gpt-oss-20b")
    assert (dense.architectures, dense.quantized) == (("Qwen3ForCausalLM",), False)
    assert (quantized.architectures, quantized.quantized) == (("GptOssForCausalLM",), True)
