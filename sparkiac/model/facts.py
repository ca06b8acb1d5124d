"""Facts about a model: architecture, format, size, licence. Unknown facts are omitted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sparkiac.model.base import Commit, Model, ShortText

Count = Annotated[int, Field(ge=0)]
Billions = Annotated[float, Field(gt=0, le=10_000)]
Size = Annotated[float, Field(gt=0, le=4096)]
Modality = Literal["text", "image", "video", "audio"]


class Architecture(Model):
    """Architecture of the model: counts of layers, heads and tokens, as far as the sources state them."""

    kind: Literal["dense", "moe", "hybrid-dense", "hybrid-moe"] | None = None
    """`hybrid` mixes full attention with linear attention or Mamba layers."""
    total_params_b: Billions | None = None
    """Parameters, in billions."""
    active_params_b: Billions | None = None
    """Active parameters per token, in billions."""
    layers: Count | None = None
    """Decoder layers."""
    full_attention_layers: Count | None = None
    """Layers whose KV cache grows with the whole context."""
    sliding_window_layers: Count | None = None
    """Layers whose KV cache is limited to the sliding window."""
    sliding_window: Count | None = None
    """Tokens in the sliding window."""
    linear_attention_layers: Count | None = None
    """Layers with linear attention (Gated DeltaNet), whose state has a fixed size."""
    mamba_layers: Count | None = None
    """Mamba-2 layers, whose state has a fixed size."""
    mtp_layers: Count | None = None
    """Layers for multi-token prediction in the checkpoint."""
    kv_heads: Count | None = None
    """KV heads of a full-attention layer."""
    head_size: Count | None = None
    """Head dimension of a full-attention layer."""
    sliding_window_kv_heads: Count | None = None
    """KV heads of a sliding-window layer, if they differ from a full-attention layer."""
    sliding_window_head_size: Count | None = None
    """Head dimension of a sliding-window layer, if it differs from a full-attention layer."""
    experts: Count | None = None
    """Routed experts."""
    experts_per_token: Count | None = None
    """Routed experts that are active per token."""
    shared_experts: Count | None = None
    """Experts that are active for every token."""
    native_context: Count | None = None
    """Tokens of context that the checkpoint was trained for."""
    max_context: Count | None = None
    """Tokens of context that RoPE scaling can reach."""
    sources: tuple[ShortText, ...] = ()
    """Sources of these facts."""


class Quantization(Model):
    """Format of the weights."""

    format: ShortText
    """NVFP4, FP8, BF16, GPTQ-Int4, …"""
    checkpoint: Literal["modelopt", "compressed-tensors", "gguf", "mxfp4"] | None = None
    """Tool that wrote the checkpoint; it determines whether vLLM needs a --quantization flag."""
    rule: ShortText | None = None
    """What the sources say about the --quantization flag."""


class WeightSizes(Model):
    """Sizes of the weights, in the unit of the source: 1 GB is 10^9 bytes, 1 GiB is 2^30 bytes."""

    disk_gb: Size | None = None
    """Size of the download, in GB."""
    loaded_gb: Size | None = None
    """Memory of the loaded weights, if the source states it in GB."""
    loaded_gib: Size | None = None
    """Memory of the loaded weights, if the source states it in GiB."""
    drafter_gb: Size | None = None
    """Size of the drafter, in GB."""


class Prefill(Model):
    """Prefill rate that a source measured."""

    low: Annotated[float, Field(gt=0, le=10**6)]
    """Lowest measured rate, in tokens per second."""
    high: Annotated[float, Field(gt=0, le=10**6)]
    """Highest measured rate, in tokens per second."""
    source: ShortText
    """Source of the measurement."""


class ModelFacts(Model):
    """Facts about one checkpoint."""

    publisher: ShortText | None = None
    """Publisher of the checkpoint, and in brackets of the original model."""
    revision: Commit | None = None
    """Commit that the sources used, if one of them names it."""
    architecture: Architecture = Field(default_factory=Architecture)
    """Architecture of the model."""
    quantization: Quantization | None = None
    """Format of the weights."""
    weights: WeightSizes | None = None
    """Sizes of the weights."""
    prefill: Prefill | None = None
    """Prefill rate."""
    modalities: tuple[Modality, ...] = ()
    """Kinds of input that the model accepts; empty if no source says."""
    thinks: bool | None = None
    """Whether the model reasons before it answers, by default."""
    licence: ShortText | None = None
    """Licence."""
    gated: bool | None = None
    """Whether the download needs an accepted licence and a token."""
