"""config.json → shape of the network. Missing facts are listed.

The names are those of Hugging Face configurations; the kind of each layer follows vLLM 0.19 to 0.32. A family that is
not listed is unknown: it can have other caches, and would be counted as plain attention.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sparkiac.memory import layers
from sparkiac.memory.layers import Attention, Latent, Layer, Linear, Mamba2, Shape, Vision, Width
from sparkiac.memory.values import ConfigReader, Unknown

_WORDS: Final = {
    "full_attention": "full",
    "attention": "full",
    "sliding_attention": "window",
    # vLLM keeps chunks like the whole context, unless an environment variable changes it.
    "chunked_attention": "full",
    "linear_attention": "linear",
    "mamba": "mamba",
    "mlp": "none",
    "moe": "none",
}
_LETTERS: Final = {"*": "full", "M": "mamba", "-": "none", "E": "none"}
_NESTED: Final = ("text_config", "llm_config", "language_config")
_FAMILIES: Final = frozenset(
    """
    llama mistral mistral3 mixtral qwen2 qwen2_moe qwen3 qwen3_moe qwen3_vl qwen3_vl_text qwen3_vl_moe qwen3_vl_moe_text
    qwen3_next qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text gemma3 gemma3_text gemma4 gemma4_text gemma4_assistant
    gpt_oss nemotron_h deepseek_v2 deepseek_v3 kimi_k2 kimi_k25 glm4_moe glm4_moe_lite minimax_m2 mimo
    mimo_v2_flash laguna llama4 llama4_text nemotron-nas kimi_linear deepseek_v32 glm_moe_dsa deepseek_v4
    """.split()  # noqa: SIM905  a column of words is easier to read and to extend than a list of strings
)
_KV_HEADS: Final = ("num_key_value_heads", "num_attention_heads")
_SIZED: Final = ("num_key_value_heads", "head_dim")
_DECIDING: Final = {
    **dict.fromkeys(("mistral", "mixtral", "qwen2", "qwen2_moe", "llama4", "mimo"), _SIZED[:1]),
    **dict.fromkeys(("qwen3", "qwen3_moe", "qwen3_vl", "qwen3_vl_moe", "glm4_moe", "minimax_m2", "laguna"), _SIZED),
    **dict.fromkeys(("deepseek_v2", "deepseek_v3", "kimi_k2", "kimi_k25", "glm4_moe_lite"), ("kv_lora_rank",)),
    **dict.fromkeys(("qwen3_5", "qwen3_5_moe"), (*_SIZED, "layer_types|full_attention_interval", "mamba_ssm_dtype")),
    "qwen3_next": (*_SIZED, "layer_types|full_attention_interval"),
    "kimi_linear": ("kv_lora_rank", "linear_attn_config"),
    "gpt_oss": (*_SIZED, "layer_types"),
    "gemma4": (*_SIZED, "layer_types", "global_head_dim", "num_global_key_value_heads", "attention_k_eq_v"),
    "nemotron_h": (*_SIZED, "hybrid_override_pattern|layers_block_type|layer_types"),
    "mimo_v2_flash": (*_SIZED, "hybrid_layer_pattern", "v_head_dim", "swa_num_key_value_heads", "swa_v_head_dim"),
}
"""Family → keys that the arithmetic could do without, with another count; `|` separates keys of which one is enough."""
_DEFAULTS: Final[dict[str, dict[str, object]]] = {
    "gemma3": {"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "sliding_window_pattern": 6},
}
"""Family → keys that public configurations leave out, with the defaults of their class in transformers."""
_ASKED_BITS: Final = {8: "fp8", 4: "nvfp4"}
"""Bits of an element → KV dtype of the checkpoint."""
_DELTA_CHECKPOINTS: Final = (0, 29)
"""First vLLM release that keeps one more state of a Gated DeltaNet layer with a bounded gate."""
_LARGEST_IMAGE: Final = 16_384
"""Tokens of the largest image of a model without an image size limit, as vLLM 0.22.0 logs them for Qwen3.6."""
_BY_INDEX: Final = {
    **dict.fromkeys((*layers.INDEXED, *layers.COMPRESSED), "sparse"),
    "nemotron-nas": "block",
}
"""Families whose layers differ by index → kind of their layers."""
_COMPARED: Final = frozenset(
    """
    llama qwen3 qwen3_moe qwen3_next qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text gemma3 gemma3_text gemma4
    gemma4_text gpt_oss nemotron_h deepseek_v2 glm4_moe_lite qwen3_vl qwen3_vl_text
    """.split()  # noqa: SIM905  as above
)
"""Families whose tokens were compared with the log of a real server on a GPU."""


def is_compared(config: Mapping[str, object]) -> bool:
    """Return whether the family of a config.json was compared with a real server on a GPU."""
    return str(_text(config).get("model_type", config.get("model_type"))) in _COMPARED


def read(config: Mapping[str, object]) -> Shape | Unknown:
    """Return the shape of the network that a config.json describes.

    A nested text model is read under the names that multimodal configurations use. Unknown lists the missing facts, or
    the unsupported family.
    """
    family = _text(config).get("model_type", config.get("model_type"))
    if str(family) not in _FAMILIES:
        return Unknown((f"the layers of model type {family}",))
    text = _reader(_text(config), str(family).removesuffix("_text"))
    kinds = _kinds(text)
    layers = tuple(_layer(text, kind, index) for index, kind in enumerate(kinds))
    drafts = tuple(layer for kind in _draft_kinds(text, kinds) if (layer := _layer(text, kind, None)))
    if text.missing:
        return Unknown(tuple(dict.fromkeys(text.missing)))
    return Shape(
        layers=layers,
        drafts=drafts,
        context=text.found("max_position_embeddings", "seq_length"),
        kv_dtype=_kv_dtype(config),
        state_dtype=_state_dtype(text),
        encoders=_encoders(config),
        vision=_vision(config),
        width=_width(text, kinds),
        architectures=tuple(map(str, ConfigReader(config).words("architectures"))),
        quantized=isinstance(config.get("quantization_config"), Mapping),
    )


def _text(config: Mapping[str, object]) -> Mapping[str, object]:
    nested = [value for name in _NESTED if isinstance(value := config.get(name), Mapping)]
    return nested[0] if nested else config


def _reader(text: Mapping[str, object], family: str) -> ConfigReader:
    """Return a reader with the defaults of the family, which already misses the deciding keys that nothing states."""
    config = {**_DEFAULTS.get(family, {}), **text}
    choices = (names.split("|") for names in _DECIDING.get(family, ()))
    return ConfigReader(config, missing=[names[0] for names in choices if not any(name in config for name in names)])


def _kinds(text: ConfigReader) -> tuple[str, ...]:
    pattern = text.config.get("hybrid_override_pattern")
    words = text.words("layer_types") or text.words("layers_block_type")
    count = text.found("num_hidden_layers") or len(words) or text.number("num_hidden_layers")
    family = text.config.get("model_type")
    if family in _BY_INDEX:
        return (_BY_INDEX[family],) * count
    if isinstance(pattern, str):
        kinds = tuple(_LETTERS.get(letter, "unknown") for letter in pattern)
    elif words:
        kinds = tuple(_WORDS.get(str(word), "unknown") for word in words)
    elif marks := text.words("hybrid_layer_pattern"):
        kinds = tuple("window" if mark else "full" for mark in marks)
    elif family == "kimi_linear":
        listed = text.section("linear_attn_config").words("kda_layers")
        kinds = tuple("delta" if number in listed else "full" for number in range(1, count + 1))
    else:
        kinds = tuple(_by_position(text, index) for index in range(count))
    if "unknown" in kinds or len(kinds) != count:
        text.missing.append("layer_types: the kind of each layer")
    shared = text.found("num_kv_shared_layers") or 0
    return (*kinds[: len(kinds) - shared], *["none"] * shared)


def _by_position(text: ConfigReader, index: int) -> str:
    every = text.found("full_attention_interval", "sliding_window_pattern", "_sliding_window_pattern")
    other = "linear" if "linear_num_value_heads" in text.config else "window"
    if every:
        return "full" if (index + 1) % every == 0 else other
    windowed = text.found("sliding_window") and text.config.get("use_sliding_window", True)
    return "window" if windowed else "full"


def _draft_kinds(text: ConfigReader, kinds: tuple[str, ...]) -> tuple[str, ...]:
    count = text.found("mtp_num_hidden_layers", "num_nextn_predict_layers") or 0
    pattern = text.config.get("mtp_hybrid_override_pattern")
    if isinstance(pattern, str):
        return tuple(_LETTERS.get(letter, "unknown") for letter in pattern * count)
    likely = next((kind for kind in ("sparse", "full") if kind in kinds), "window")
    return (likely,) * count


def _layer(text: ConfigReader, kind: str, index: int | None) -> Layer | None:
    """Return the layer with an index from 0; without an index, an MTP layer."""
    if kind == "sparse":
        return layers.sparse_draft(text) if index is None else layers.sparse_layer(text, index)
    if kind == "block":
        return _block(text, index or 0)
    make = _MAKERS.get(kind)
    return make(text) if make else None


def _full(text: ConfigReader) -> Layer:
    rank = text.found("kv_lora_rank")
    if rank:
        return Latent(rank + text.number("qk_rope_head_dim"))
    equal = text.config.get("attention_k_eq_v") is True
    heads = text.found("num_global_key_value_heads") if equal else None
    size = text.found("global_head_dim") or _head_size(text)
    return Attention(heads or text.number(*_KV_HEADS), size, text.found("v_head_dim") or size)


def _window(text: ConfigReader) -> Layer:
    heads = text.found("swa_num_key_value_heads") or text.number(*_KV_HEADS)
    size = text.found("swa_head_dim") or _head_size(text)
    window = text.number("sliding_window", "sliding_window_size")
    return Attention(heads, size, text.found("swa_v_head_dim") or size, window)


def _block(text: ConfigReader, index: int) -> Layer | None:
    """Return a layer of a network from architecture search: some have no attention, or other group sizes."""
    blocks = text.words("block_configs")
    block = blocks[index] if index < len(blocks) else None
    attention = ConfigReader(block if isinstance(block, Mapping) else {}, missing=text.missing).section("attention")
    if attention.config.get("no_op") is True:
        return None
    if any(attention.config.get(name) for name in ("replace_with_linear", "window_length", "num_sink_tokens")):
        text.missing.append("block_configs: attention of a kind that vLLM does not support")
    size = _head_size(text)
    return Attention(text.number("num_attention_heads") // max(1, attention.number("n_heads_in_group")), size, size)


def _head_size(text: ConfigReader) -> int:
    size = text.found("head_dim")
    if size:
        return size
    heads = text.number("num_attention_heads")
    return text.number("hidden_size") // max(heads, 1)


def _linear(text: ConfigReader) -> Layer:
    return Linear(
        key_heads=text.number("linear_num_key_heads"),
        value_heads=text.number("linear_num_value_heads"),
        key_size=text.number("linear_key_head_dim"),
        value_size=text.number("linear_value_head_dim"),
        kernel=text.number("linear_conv_kernel_dim"),
    )


def _delta(text: ConfigReader) -> Layer:
    """Return a layer of Kimi Delta Attention: its keys and values have the same size."""
    section = text.section("linear_attn_config")
    heads, size = section.number("num_heads"), section.number("head_dim")
    # With a bounded gate it uses a kernel of Kimi-K3 that keeps one more state.
    checkpoints = () if section.config.get("gate_lower_bound") is None else _DELTA_CHECKPOINTS
    return Linear(heads, heads, size, size, section.number("short_conv_kernel_size"), checkpoints)


def _mamba(text: ConfigReader) -> Layer:
    return Mamba2(
        heads=text.number("mamba_num_heads", "mamba_n_heads"),
        head_size=text.number("mamba_head_dim", "mamba_d_head"),
        groups=text.number("n_groups", "mamba_n_groups"),
        state_size=text.number("ssm_state_size", "mamba_d_state"),
        kernel=text.number("conv_kernel", "mamba_d_conv"),
    )


_MAKERS: Final = {"full": _full, "window": _window, "linear": _linear, "delta": _delta, "mamba": _mamba}


def _kv_dtype(config: Mapping[str, object]) -> str | None:
    # Older ModelOpt checkpoints have it in a separate file, which the lock stores under that name.
    section = (config.get("quantization_config"), config.get("hf_quant_config"))
    return next(filter(None, (_requested_dtype(each) for each in section if isinstance(each, Mapping))), None)


def _requested_dtype(quantization: Mapping[str, object]) -> str | None:
    inner = quantization.get("quantization", quantization)
    section = ConfigReader(inner if isinstance(inner, Mapping) else {})
    if isinstance(section.config.get("kv_cache_scheme"), Mapping):
        scheme = section.section("kv_cache_scheme")
        return _ASKED_BITS.get(scheme.found("num_bits") or 0) if scheme.config.get("type") == "float" else None
    algorithm = str(section.config.get("kv_cache_quant_algo")).lower()
    return algorithm if algorithm in _ASKED_BITS.values() else None


def _state_dtype(text: ConfigReader) -> str | None:
    named = text.config.get("mamba_ssm_cache_dtype", text.config.get("mamba_ssm_dtype"))
    if isinstance(named, str):
        return named
    return "float32" if text.config.get("model_type") in {"nemotron_h", "kimi_linear"} else None


def _encoders(config: Mapping[str, object]) -> tuple[str, ...]:
    names = {"vision_config": "vision", "audio_config": "audio", "sound_config": "audio"}
    return tuple(dict.fromkeys(name for key, name in names.items() if isinstance(config.get(key), Mapping)))


def _vision(config: Mapping[str, object]) -> Vision | None:
    found = config.get("vision_config")
    section = ConfigReader(found if isinstance(found, Mapping) else {})
    hidden, intermediate = section.found("hidden_size"), section.found("intermediate_size")
    if not hidden or not intermediate:
        return None
    image, patch = section.found("image_size"), section.found("patch_size")
    merged, pooled = section.found("spatial_merge_size"), section.found("pooling_kernel_size")
    patches, side = (image // patch) ** 2 if image and patch else 0, merged or pooled or 1
    tokens = ConfigReader(config).found("mm_tokens_per_image")
    largest = tokens or patches // side**2 or (_LARGEST_IMAGE if merged else 0)
    return Vision(hidden, intermediate, max(1, patches // tokens) if tokens else side**2, largest)


def _width(text: ConfigReader, kinds: tuple[str, ...]) -> Width:
    experts = text.found("num_experts", "n_routed_experts", "num_local_experts") or 0
    dense = text.found("first_k_dense_replace") or 0
    own = kinds.count("none") if "mamba" in kinds else len(kinds)
    heads = text.found("num_attention_heads") or 0
    return Width(
        hidden=text.found("hidden_size"),
        vocabulary=text.found("vocab_size"),
        intermediate=text.found("intermediate_size"),
        expert_intermediate=text.found("moe_intermediate_size", "intermediate_size"),
        experts=experts,
        experts_per_token=text.found("num_experts_per_tok", "top_k_experts", "experts_per_token") or 0,
        expert_layers=own - dense if experts else 0,
        latent_elements=heads * ((text.found("qk_nope_head_dim") or 0) + (text.found("v_head_dim") or 0)),
    )
