"""Facts about a model: architecture, weight format, sizes, licence. Unknown facts are left out.

The catalog is read into these models, the memory arithmetic computes with them, and the plan carries them.
"""

from typing import Annotated, Final, Literal

from pydantic import Field

from sparkiac.model.base import Commit, Model, Shared, ShortText

_GIB: Final = 1 << 30
_GB: Final = 10**9
Count = Annotated[int, Field(ge=0)]
Billions = Annotated[float, Field(gt=0, le=10_000)]
Size = Annotated[float, Field(gt=0, le=4096)]
Modality = Literal["text", "image", "video", "audio"]


class Architecture(Model):
    """The network: counts of layers, heads and tokens, as far as sources state them."""

    kind: Literal["dense", "moe", "hybrid-dense", "hybrid-moe"] | None = None
    """`hybrid` mixes full attention with linear attention or Mamba layers."""
    total_params_b: Billions | None = None
    """Parameters, in billions."""
    active_params_b: Billions | None = None
    """Parameters that are active for one token, in billions."""
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
    """Routed experts that are active for one token."""
    shared_experts: Count | None = None
    """Experts that are active for every token."""
    native_context: Count | None = None
    """Context length in tokens that the checkpoint was trained for."""
    max_context: Count | None = None
    """Context length in tokens that it can be extended to."""
    sources: tuple[ShortText, ...] = ()
    """Sources of these facts."""

    @property
    def parameters(self) -> tuple[float, float] | None:
        """Total and active parameters in billions; in a dense network, all of them are active."""
        active_b = self.total_params_b if self.kind == "dense" else self.active_params_b
        return None if self.total_params_b is None or active_b is None else (self.total_params_b, active_b)


class Quantization(Model):
    """Format of the weights."""

    format: ShortText
    """NVFP4, FP8, BF16, GPTQ-Int4, …"""
    checkpoint: Literal["modelopt", "compressed-tensors", "gguf", "mxfp4"] | None = None
    """Tool that wrote the checkpoint; it determines whether --quantization is needed."""
    rule: ShortText | None = None
    """What the sources say about that option."""


class WeightSizes(Model):
    """Sizes, in the unit of the source: 1 GB is 10^9 bytes, 1 GiB is 2^30 bytes."""

    disk_gb: Size | None = None
    """Size of the download."""
    loaded_gb: Size | None = None
    """Size of the loaded weights, if the source states GB."""
    loaded_gib: Size | None = None
    """Size of the loaded weights, if the source states GiB."""
    drafter_gb: Size | None = None
    """Size of the drafter, in GB."""

    @property
    def loaded(self) -> bool:
        """Whether a source states the loaded size, which is more exact than the size on disk."""
        return self.loaded_gib is not None or self.loaded_gb is not None

    @property
    def size_bytes(self) -> int | None:
        """Size of the loaded weights, or else their size on disk."""
        if self.loaded_gib is not None:
            return int(self.loaded_gib * _GIB)
        return _gb(self.disk_gb if self.loaded_gb is None else self.loaded_gb)

    @property
    def drafter_bytes(self) -> int | None:
        """Size of the drafter."""
        return _gb(self.drafter_gb)


class Prefill(Model):
    """Measured rate at which prompts are processed."""

    low: Annotated[float, Field(gt=0, le=10**6)]
    """Lowest measured rate, in tokens per second."""
    high: Annotated[float, Field(gt=0, le=10**6)]
    """Highest measured rate, in tokens per second."""
    source: ShortText
    """Source of the measurement."""


class ModelFacts(Shared):
    """Facts about one checkpoint."""

    publisher: ShortText | None = None
    """Publisher of the checkpoint; in brackets, that of the original model."""
    revision: Commit | None = None
    """Commit that the sources ran, if one of them states it."""
    architecture: Architecture = Field(default_factory=Architecture)
    """The network."""
    quantization: Quantization | None = None
    """Format of the weights."""
    weights: WeightSizes | None = None
    """Sizes."""
    prefill: Prefill | None = None
    """Rate at which prompts are processed."""
    modalities: tuple[Modality, ...] = ()
    """Kinds of input; empty if unknown."""
    thinks: bool | None = None
    """Whether it reasons before it answers by default."""
    licence: ShortText | None = None
    """Licence."""
    gated: bool | None = None
    """Whether the download needs an accepted licence and a token."""

    @property
    def format(self) -> str | None:
        """Format of the weights, such as NVFP4."""
        return self.quantization.format if self.quantization else None

    @property
    def checkpoint(self) -> str | None:
        """Tool that wrote the checkpoint, such as `modelopt`."""
        return self.quantization.checkpoint if self.quantization else None

    @property
    def weights_bytes(self) -> int | None:
        """Size of the loaded weights, or else their size on disk."""
        return self.weights.size_bytes if self.weights else None

    @property
    def drafter_bytes(self) -> int | None:
        """Size of the drafter."""
        return self.weights.drafter_bytes if self.weights else None


def _gb(size: float | None) -> int | None:
    return None if size is None else int(size * _GB)
