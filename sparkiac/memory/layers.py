"""Kinds of layers with a KV cache or a state, and the network that they form. Counts, no bytes.

Sparse layers are those of the DeepSeek families: sizes and order follow vLLM's `deepseek_v2.py` of 0.19, and
`models/deepseek_v32` and `models/deepseek_v4` of 0.32.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from sparkiac.memory.values import ConfigReader, Unknown
from sparkiac.model.facts import Architecture

_MAMBA_CHECKPOINTS: Final = (0, 32)
"""First vLLM release that keeps one more state of a Mamba2 layer."""
INDEXED: Final = frozenset({"deepseek_v32", "glm_moe_dsa"})
"""Latent attention with an indexer."""
COMPRESSED: Final = frozenset({"deepseek_v4"})
"""A window, and compressed keys and values for the whole context."""
_LATENT_BYTES: Final = 656
"""512 elements in FP8, 4 scales of 32 bits, 64 rotary elements of 16 bits."""
_COMPRESSED_BYTES: Final = 584
"""448 elements in FP8, 7 scales and one padding byte, 64 rotary elements of 16 bits."""
_COMPRESSED_SIZE: Final = 512
_ALIGNMENT: Final = 576
_INDEX_BLOCK: Final = 64
_WINDOW_BLOCK: Final = 64
_COMPRESSED_BLOCK: Final = 256
_PICKED: Final = 4
"""Compression ratio of layers with an indexer, which picks the tokens to read; layers with 128 read all tokens."""
_INPUT_BLOCKS: Final = {_PICKED: 4, 128: 8}
"""Compression ratio → tokens in a block of compressor inputs."""


class Attention(NamedTuple):
    """Keys and values of each token: MHA, GQA or MQA, with or without a sliding window."""

    kv_heads: int
    head_size: int
    """Elements of one key."""
    value_size: int
    """Elements of one value."""
    window: int | None = None
    """Tokens in the sliding window; None for the whole context."""


class Latent(NamedTuple):
    """Multi-head latent attention: one vector for each token, the same on every rank."""

    size: int
    """Elements of the compressed keys and values, including the rotary part."""
    packed_bytes: int | None = None
    """Bytes of the vector in FP8, if sparse attention packs it with scales and a rotary part of 16 bits."""


class Rows(NamedTuple):
    """Vectors whose size does not depend on the KV dtype: indexer keys, compressed keys, compressor inputs."""

    size_bytes: int
    tokens: int = 1
    """Tokens that share a vector."""
    window: int | None = None
    """Tokens that are kept; None for all."""
    block_tokens: int | None = None
    """Tokens of a block; None for the block size of the server."""
    alignment: int = 1
    """The size of a page is a multiple of it."""


class Sparse(NamedTuple):
    """Attention that selects the tokens to read: one layer with several caches, in vLLM's order."""

    caches: tuple[Latent | Rows, ...]
    block_tokens: int
    """The block size of the server is a multiple of it, and by default equal to it."""


class Linear(NamedTuple):
    """Gated DeltaNet: a state of fixed size for each sequence."""

    key_heads: int
    value_heads: int
    key_size: int
    value_size: int
    kernel: int
    """Kernel size of the causal convolution in the layer."""
    checkpoints: tuple[int, ...] = ()
    """First vLLM release that keeps one more state for prefix caching; empty if none does."""


class Mamba2(NamedTuple):
    """Mamba-2: a state of fixed size for each sequence."""

    heads: int
    head_size: int
    groups: int
    state_size: int
    kernel: int
    """Kernel size of the causal convolution in the layer."""
    checkpoints: tuple[int, ...] = _MAMBA_CHECKPOINTS
    """First vLLM release that keeps one more state for prefix caching."""


Layer = Attention | Latent | Sparse | Linear | Mamba2
State = Linear | Mamba2


class Width(NamedTuple):
    """Widths of the network; None if unknown."""

    hidden: int | None = None
    vocabulary: int | None = None
    intermediate: int | None = None
    """Intermediate size of a dense layer; 0 if there is none."""
    expert_intermediate: int | None = None
    """Intermediate size of one routed expert."""
    experts: int = 0
    """Routed experts of one layer; 0 in a dense network."""
    experts_per_token: int = 0
    expert_layers: int = 0
    """Layers with routed experts."""
    latent_elements: int = 0
    """Elements of the keys and values that latent attention unpacks for a token, over all heads."""


class Vision(NamedTuple):
    """Widths of the image encoder."""

    hidden: int
    intermediate: int
    token_patches: int
    """Patches for one token."""
    item_tokens: int
    """Tokens of the largest image."""


class Shape(NamedTuple):
    """The properties of a network that determine its KV cache."""

    layers: tuple[Layer | None, ...]
    """Layers in order; None for a layer without a cache, such as a block of experts."""
    drafts: tuple[Layer, ...] = ()
    """Layers for multi-token prediction in the checkpoint."""
    context: int | None = None
    """Context length that the checkpoint was trained for."""
    kv_dtype: str | None = None
    """KV dtype of the checkpoint, used if the engine has no option for it."""
    state_dtype: str | None = None
    """Dtype of the checkpoint for the recurrent part of a state."""
    encoders: tuple[str, ...] = ()
    """`vision` and `audio`, if the checkpoint has them."""
    vision: Vision | None = None
    """The image encoder; None if its sizes are unknown."""
    width: Width = Width()
    architectures: tuple[str, ...] = ()
    """Architecture classes in config.json."""
    quantized: bool = False
    """Whether config.json has a quantization_config."""

    @property
    def hybrid(self) -> bool:
        """Whether some layers have a state of fixed size."""
        return any(isinstance(layer, State) for layer in self.layers)

    @property
    def sparse(self) -> Sparse | None:
        """The first layer with sparse attention."""
        return next((layer for layer in self.layers if isinstance(layer, Sparse)), None)


def shape_of(known: Architecture) -> Shape | Unknown:
    """Return the shape of a network whose config.json is unknown, from the catalog's counts of layers and heads.

    Layers of both kinds are spread evenly, which only matters for pipeline stages. What is missing is its config.json,
    if the counts do not suffice.
    """
    if not _counted(known):
        return Unknown(("config.json",))
    full = Attention(known.kv_heads or 0, known.head_size or 0, known.head_size or 0)
    size = known.sliding_window_head_size or full.head_size
    window = Attention(known.sliding_window_kv_heads or full.kv_heads, size, size, known.sliding_window)
    order = _spread(known.full_attention_layers or 0, known.sliding_window_layers or 0)
    return Shape(
        layers=tuple(full if whole else window for whole in order),
        drafts=(full,) * (known.mtp_layers or 0),
        context=known.native_context,
        width=Width(
            experts=known.experts or 0,
            experts_per_token=known.experts_per_token or 0,
            expert_layers=len(order) if known.experts else 0,
        ),
    )


def _counted(known: Architecture) -> bool:
    """Tell whether the counts make a network: no recipe states the size of a recurrent state."""
    required = [known.full_attention_layers, known.kv_heads, known.head_size]
    required += [known.sliding_window] if known.sliding_window_layers else []
    return None not in required and not known.linear_attention_layers and not known.mamba_layers


def _spread(full: int, window: int) -> tuple[bool, ...]:
    count = full + window
    return tuple((index + 1) * full // count > index * full // count for index in range(count))


def sparse_layer(text: ConfigReader, index: int) -> Sparse:
    """Return the layer with an index from 0. Missing names are recorded in `text`."""
    if text.config.get("model_type") in INDEXED:
        return _indexed(text, keeps=_has_indexer(text, index))
    return Sparse(tuple(_compressed(text, _ratio(text, index))), _COMPRESSED_BLOCK)


def sparse_draft(text: ConfigReader) -> Sparse:
    """Return an MTP layer: it always has an indexer and does not compress."""
    if text.config.get("model_type") in INDEXED:
        return _indexed(text, keeps=True)
    return Sparse(tuple(_compressed(text, 1)), _COMPRESSED_BLOCK)


def _indexed(text: ConfigReader, *, keeps: bool) -> Sparse:
    latent = Latent(text.number("kv_lora_rank") + text.number("qk_rope_head_dim"), _LATENT_BYTES)
    return Sparse((Rows(_index_bytes(text)), latent) if keeps else (latent,), _INDEX_BLOCK)


def _has_indexer(text: ConfigReader, index: int) -> bool:
    # Other layers use the selection of the previous indexer.
    pattern = text.config.get("index_topk_pattern")
    if isinstance(pattern, str):
        return pattern[index : index + 1] != "S"
    offset, every = text.found("index_skip_topk_offset"), text.found("index_topk_freq") or 1
    return max(index + 1 - (2 if offset is None else offset), 0) % every == 0


def _index_bytes(text: ConfigReader) -> int:
    # FP8, with one scale of 32 bits for 128 elements.
    size = text.number("index_head_dim")
    return size + size // 128 * 4


def _ratio(text: ConfigReader, index: int) -> int:
    ratios = text.words("compress_ratios")
    ratio = ratios[index] if index < len(ratios) else None
    if not isinstance(ratio, int) or max(1, ratio) not in (1, *_INPUT_BLOCKS):
        text.missing.append("compress_ratios: 0, 4 or 128 for each layer")
        return 1
    return max(1, ratio)


def _compressed(text: ConfigReader, ratio: int) -> Iterator[Rows]:
    if text.number("head_dim") != _COMPRESSED_SIZE:
        text.missing.append(f"head_dim: {_COMPRESSED_SIZE}")
    if ratio == _PICKED:
        yield Rows(_index_bytes(text), tokens=ratio, alignment=_ALIGNMENT)
        yield _inputs(text.number("index_head_dim"), ratio)
    window = text.number("sliding_window")
    yield Rows(_COMPRESSED_BYTES, window=window, block_tokens=_WINDOW_BLOCK, alignment=_ALIGNMENT)
    if ratio > 1:
        yield Rows(_COMPRESSED_BYTES, tokens=ratio, alignment=_ALIGNMENT)
        yield _inputs(_COMPRESSED_SIZE, ratio)


def _inputs(size: int, ratio: int) -> Rows:
    # Key and score of each token that is not compressed yet, in 32 bits; twice if neighbours overlap.
    twice = 2 if ratio == _PICKED else 1
    block = _INPUT_BLOCKS[ratio]
    return Rows(2 * twice * size * 4, window=twice * ratio, block_tokens=block, alignment=_ALIGNMENT)
