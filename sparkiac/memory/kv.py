"""Bytes that one layer keeps on one rank: for each token, or for each sequence.

Follows vLLM's `kv_cache_interface.py` and `mamba_utils.py`, the same in 0.15.1, 0.19.0, 0.23.0 and 0.32.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.memory.layers import Attention, Latent, Linear
from sparkiac.memory.values import Unknown

if TYPE_CHECKING:
    from sparkiac.memory.layers import Mamba2, Shape, State
    from sparkiac.memory.options import ServerOptions

# What recurrent states are kept in; anything else is refused by name.
_STATE_BYTES: Final = {"float32": 4, "float": 4, "bfloat16": 2, "float16": 2, "half": 2}


class Format(NamedTuple):
    """How elements of keys and values are kept."""

    numerator: int
    denominator: int = 1
    """Bytes of an element, as a fraction."""
    scale_bytes: int = 0
    """Bytes of the scale beside each key and each value of a head."""

    def size(self, elements: int) -> int:
        """Give the bytes of one vector."""
        return elements * self.numerator // self.denominator + self.scale_bytes


_PLAIN: Final = Format(2)
_FP8: Final = Format(1)
_FORMATS: Final = {
    "float32": Format(4),
    "float": Format(4),
    "bfloat16": _PLAIN,
    "float16": _PLAIN,
    "half": _PLAIN,
    "fp8": _FP8,
    "fp8_e4m3": _FP8,
    "fp8_e5m2": _FP8,
    "fp8_inc": _FP8,
    # One FP32 scale for each token and head; its keys and values have one each.
    "fp8_per_token_head": Format(1, scale_bytes=4),
    "int8_per_token_head": Format(1, scale_bytes=4),
    "int4_per_token_head": Format(1, 2, scale_bytes=4),
    # Four bits, and an FP8 scale for each 16 elements.
    "nvfp4": Format(9, 16),
}


# What sparse attention takes; in FP8 it packs a row in a way of its own.
_SPARSE: Final = {**dict.fromkeys(("fp8", "fp8_e4m3", "fp8_ds_mla"), _FP8), "bfloat16": _PLAIN}
_GRANTS_NVFP4: Final = (0, 20)
"""Before, a checkpoint that asks for this is not heard."""
_SPARSE_IS_FP8: Final = (0, 24)
"""From here on there are sparse kernels for this machine (SM 12.x), and they take FP8 alone."""


def kv_format(shape: Shape, options: ServerOptions) -> Format | Unknown:
    """Give the format of keys and values: told, asked for by the checkpoint, or that of the activations."""
    word = options.kv_cache_dtype
    if word == "auto":
        asked = None if shape.kv_dtype == "nvfp4" and options.release < _GRANTS_NVFP4 else shape.kv_dtype
        word = asked or ("bfloat16" if options.dtype == "auto" else options.dtype)
        word = "fp8" if _packs(shape, options) else word
    elif word == "bfloat16" and _packs(shape, options):
        return Unknown(("kv_cache_dtype: fp8 or auto, which is all that sparse attention takes here",))
    known = _SPARSE if shape.sparse else _FORMATS
    return known.get(word) or Unknown((f"bytes of the KV dtype {word}",))


def _packs(shape: Shape, options: ServerOptions) -> bool:
    """Whether there is nothing but FP8: compressed attention never had another format."""
    if shape.sparse is None:
        return False
    return options.release >= _SPARSE_IS_FP8 or not any(isinstance(each, Latent) for each in shape.sparse.caches)


def token_bytes(layer: Attention | Latent, *, kept: Format, ranks: int) -> int:
    """Give the bytes of one token in one layer on each of the ranks of tensor parallelism.

    A rank has one head at least; a latent vector is whole on every rank.
    """
    if isinstance(layer, Attention):
        return max(1, layer.kv_heads // ranks) * (kept.size(layer.head_size) + kept.size(layer.value_size))
    return layer.packed_bytes if layer.packed_bytes and kept == _FP8 else kept.size(layer.size)


def state_bytes(layer: State, *, shape: Shape, options: ServerOptions, speculative_tokens: int) -> int | Unknown:
    """Give the bytes of one state of one layer on one rank: inputs of the convolution, and the recurrent part."""
    plain = _told(options.mamba_cache_dtype, options.dtype, "bfloat16")
    recurrent = _told(options.mamba_ssm_cache_dtype, shape.state_dtype or "auto", plain)
    odd = tuple(f"bytes of the state dtype {word}" for word in (plain, recurrent) if word not in _STATE_BYTES)
    if odd:
        return Unknown(odd)
    ranks = options.tensor_parallel_size
    channels, heads, elements = _linear(layer) if isinstance(layer, Linear) else _mamba(layer, ranks)
    taps = layer.kernel - 1 + speculative_tokens
    return channels // ranks * taps * _STATE_BYTES[plain] + heads // ranks * elements * _STATE_BYTES[recurrent]


def _told(*words: str) -> str:
    return next(word for word in words if word != "auto")


def _linear(layer: Linear) -> tuple[int, int, int]:
    channels = 2 * layer.key_heads * layer.key_size + layer.value_heads * layer.value_size
    return channels, layer.value_heads, layer.value_size * layer.key_size


def _mamba(layer: Mamba2, ranks: int) -> tuple[int, int, int]:
    # Each rank needs the groups of its heads: what cannot be divided is repeated.
    groups = layer.groups + (0 if layer.groups % ranks == 0 else ranks - layer.groups)
    channels = layer.heads * layer.head_size + 2 * groups * layer.state_size
    return channels, layer.heads, layer.head_size * layer.state_size
