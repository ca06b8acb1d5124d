"""Layers of the DeepSeek families with sparse attention, from their config.json.

Sizes and order follow vLLM's `deepseek_v2.py` of 0.19, and `models/deepseek_v32` and `models/deepseek_v4` of 0.32.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.memory.layers import Latent, Rows, Sparse
from sparkiac.memory.values import ConfigReader

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


def layer(text: ConfigReader, index: int) -> Sparse:
    """Return the layer with an index from 0. Missing names are recorded in `text`."""
    if text.config.get("model_type") in INDEXED:
        return _indexed(text, keeps=_has_indexer(text, index))
    return Sparse(tuple(_compressed(text, _ratio(text, index))), _COMPRESSED_BLOCK)


def draft(text: ConfigReader) -> Sparse:
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
