"""Specifications of layers with sparse attention, computed by vLLM's own classes.

Making an attention layer wants a GPU; what it says of its caches does not. Layers are in the order in which vLLM's
attention registers them.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
from vllm.model_executor.layers.attention.mla_attention import MLAAttention
from vllm.model_executor.models.deepseek_v2 import DeepseekV32IndexerCache

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKED = "fp8_ds_mla"
OVERLAPS = 4


def module(*names: str) -> Any:
    """Return the first of these modules that the release contains."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    return None


ATTENTION = module("vllm.models.deepseek_v4.attention", "vllm.model_executor.layers.deepseek_v4_attention")
COMPRESSOR = module("vllm.models.deepseek_v4.compressor", "vllm.model_executor.layers.deepseek_compressor")
WINDOW = module("vllm.v1.attention.backends.mla.sparse_swa")


def specs(text: dict[str, Any], index: int, *, block: int, dtype: str) -> dict[str, Any]:
    """Return the specifications of one layer; layers after the last one are for multi-token prediction."""
    cache = SimpleNamespace(block_size=block, cache_dtype=dtype)
    engine = SimpleNamespace(cache_config=cache, model_config=SimpleNamespace(dtype=torch.bfloat16))
    made = compressed(text, index, engine) if "compress_ratios" in text else indexed(text, index, engine)
    return {f"{index}.{name}": spec for name, spec in made}


def compressed(text: dict[str, Any], index: int, engine: Any) -> Iterator[tuple[str, Any]]:
    """Return the caches of a layer with a window and compressed attention."""
    ratio = max(1, text["compress_ratios"][index]) if index < text["num_hidden_layers"] else 1
    cache = engine.cache_config
    if ratio == OVERLAPS:
        yield "indexer", indexer(ATTENTION.DeepseekV4IndexerCache, text, engine, ratio)
        yield "indexer.inputs", inputs(text["index_head_dim"], ratio, engine)
    named = {"head_dim": text["head_dim"], "dtype": torch.uint8, "prefix": "", "cache_config": cache}
    with registering(WINDOW):
        window = WINDOW.DeepseekV4SWACache(window_size=text["sliding_window"], **named)
    yield "window", window.get_kv_cache_spec(engine)
    if ratio > 1:
        older = getattr(ATTENTION, "DeepseekV4MLAAttention", None)
        kind = older or ATTENTION.DeepseekV4Attention
        own = SimpleNamespace(
            compress_ratio=ratio, kv_cache_dtype=PACKED, head_dim=text["head_dim"], kv_cache_torch_dtype=torch.uint8
        )
        yield "attention", kind.get_kv_cache_spec(own, engine)
        yield "inputs", inputs(text["head_dim"], ratio, engine)


def inputs(size: int, ratio: int, engine: Any) -> Any:
    """Return the cache of a compressor's inputs: keys and scores, of two compression ratios if windows overlap."""
    with registering(COMPRESSOR):
        cache = COMPRESSOR.CompressorStateCache(
            state_dim=2 * size * (2 if ratio == OVERLAPS else 1), dtype=torch.float32, compress_ratio=ratio, prefix=""
        )
    return cache.get_kv_cache_spec(engine)


def indexed(text: dict[str, Any], index: int, engine: Any) -> Iterator[tuple[str, Any]]:
    """Return the caches of a layer with latent attention and an indexer."""
    offset, every = text.get("index_skip_topk_offset", 2), text.get("index_topk_freq", 1)
    if index >= text["num_hidden_layers"] or max(index - offset + 1, 0) % every == 0:
        yield "indexer", indexer(DeepseekV32IndexerCache, text, engine, 1)
    own = SimpleNamespace(
        kv_cache_dtype=engine.cache_config.cache_dtype,
        head_size=text["kv_lora_rank"] + text["qk_rope_head_dim"],
        sliding_window=None,
        indexer=None,
        non_causal_multi_token_decode=False,
    )
    yield "attention", MLAAttention.get_kv_cache_spec(own, engine)


def indexer(kind: Any, text: dict[str, Any], engine: Any, ratio: int) -> Any:
    """Return the cache of an indexer's keys: FP8, with a 32-bit scale per 128 of them."""
    size = text["index_head_dim"] + text["index_head_dim"] // 128 * 4
    own = SimpleNamespace(cache_config=engine.cache_config, head_dim=size, dtype=torch.uint8, compress_ratio=ratio)
    return kind.get_kv_cache_spec(own, engine)


def registering(where: Any) -> Any:
    """Let a cache register itself in a temporary configuration."""
    thrown_away = SimpleNamespace(compilation_config=SimpleNamespace(static_forward_context={}))
    return mock.patch.object(where, "get_current_vllm_config", return_value=thrown_away)
