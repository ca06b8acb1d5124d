"""What is known about a model: architecture, format, size, licence. Whatever is not known is left out."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sparkiac.model.base import Commit, Model, ShortText

Count = Annotated[int, Field(ge=0)]
Billions = Annotated[float, Field(gt=0, le=10_000)]
Size = Annotated[float, Field(gt=0, le=4096)]
Modality = Literal["text", "image", "video", "audio"]


class Architecture(Model):
    """Shape of the network, as far as its sources tell. Counts of layers, heads and tokens."""

    kind: Literal["dense", "moe", "hybrid-dense", "hybrid-moe"] | None = None
    """`hybrid` mixes full attention with linear attention or Mamba layers."""
    total_params_b: Billions | None = None
    """Parameters, in billions."""
    active_params_b: Billions | None = None
    """Parameters that work on one token, in billions."""
    layers: Count | None = None
    """Decoder layers."""
    full_attention_layers: Count | None = None
    """Layers whose KV cache grows with the whole context."""
    sliding_window_layers: Count | None = None
    """Layers whose KV cache ends at the window."""
    sliding_window: Count | None = None
    """Tokens in the window."""
    linear_attention_layers: Count | None = None
    """Layers with linear attention (Gated DeltaNet): a state of fixed size."""
    mamba_layers: Count | None = None
    """Mamba-2 layers: a state of fixed size."""
    mtp_layers: Count | None = None
    """Layers for multi-token prediction in the checkpoint."""
    kv_heads: Count | None = None
    """KV heads of a full-attention layer."""
    head_size: Count | None = None
    """Elements of one KV head of a full-attention layer."""
    sliding_window_kv_heads: Count | None = None
    """KV heads of a sliding-window layer, where they differ."""
    sliding_window_head_size: Count | None = None
    """Elements of one KV head of a sliding-window layer, where it differs."""
    experts: Count | None = None
    """Routed experts."""
    experts_per_token: Count | None = None
    """Routed experts that work on one token."""
    shared_experts: Count | None = None
    """Experts that work on every token."""
    native_context: Count | None = None
    """Tokens of context that the checkpoint was trained for."""
    max_context: Count | None = None
    """Tokens of context that it can be stretched to."""
    sources: tuple[ShortText, ...] = ()
    """Where these facts come from."""


class Quantization(Model):
    """Format of the weights."""

    format: ShortText
    """NVFP4, FP8, BF16, GPTQ-Int4, …"""
    checkpoint: Literal["modelopt", "compressed-tensors", "gguf", "mxfp4"] | None = None
    """Tool that wrote the checkpoint: it decides whether a --quantization flag is needed."""
    rule: ShortText | None = None
    """What the sources say about the flag."""


class WeightSizes(Model):
    """Sizes. GB are 10^9 bytes, GiB 2^30; a source's unit is kept."""

    disk_gb: Size | None = None
    """What is downloaded."""
    loaded_gb: Size | None = None
    """What the loaded weights take, where the source writes GB."""
    loaded_gib: Size | None = None
    """What the loaded weights take, where the source writes GiB."""
    drafter_gb: Size | None = None
    """Size of the drafter."""


class Prefill(Model):
    """How fast prompts are read, as a source measured it."""

    low: Annotated[float, Field(gt=0, le=10**6)]
    """Tokens a second, the lowest figure."""
    high: Annotated[float, Field(gt=0, le=10**6)]
    """Tokens a second, the highest figure."""
    source: ShortText
    """Whose measurement it is."""


class ModelFacts(Model):
    """One checkpoint."""

    publisher: ShortText | None = None
    """Who made the checkpoint, and in brackets the model."""
    revision: Commit | None = None
    """Commit that the sources ran, if one of them tells."""
    architecture: Architecture = Field(default_factory=Architecture)
    """Shape of the network."""
    quantization: Quantization | None = None
    """Format of the weights."""
    weights: WeightSizes | None = None
    """Sizes."""
    prefill: Prefill | None = None
    """How fast prompts are read."""
    modalities: tuple[Modality, ...] = ()
    """What it takes as input; empty where no source tells."""
    thinks: bool | None = None
    """Whether it reasons before it answers unless told otherwise."""
    licence: ShortText | None = None
    """Licence."""
    gated: bool | None = None
    """Whether the download needs an accepted licence and a token."""
