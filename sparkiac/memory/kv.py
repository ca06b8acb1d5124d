"""Bytes of one layer on one rank: for each token, or for each sequence.

Follows vLLM's `kv_cache_interface.py` and `mamba_utils.py`, the same in 0.15.1, 0.19.0, 0.23.0 and 0.32.0.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sparkiac.memory.layers import Attention, Latent, Linear, Mamba2, Shape, State
from sparkiac.memory.options import ServerOptions
from sparkiac.memory.values import Unknown

# Bytes of each dtype of recurrent states; other dtypes are unknown.
_STATE_BYTES: Final = {"float32": 4, "float": 4, "bfloat16": 2, "float16": 2, "half": 2}


class Format(NamedTuple):
    """Storage format of keys and values."""

    numerator: int
    denominator: int = 1
    """Bytes of an element, as a fraction."""
    scale_bytes: int = 0
    """Bytes of the scale of each key and each value of a head."""

    def size(self, elements: int) -> int:
        """Return the bytes of one vector."""
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
    # One FP32 scale for each token and head, for keys and for values.
    "fp8_per_token_head": Format(1, scale_bytes=4),
    "int8_per_token_head": Format(1, scale_bytes=4),
    "int4_per_token_head": Format(1, 2, scale_bytes=4),
    # Four bits, and one FP8 scale for 16 elements.
    "nvfp4": Format(9, 16),
}


# Formats of sparse attention, which packs rows in FP8 differently.
_SPARSE: Final = {**dict.fromkeys(("fp8", "fp8_e4m3", "fp8_ds_mla"), _FP8), "bfloat16": _PLAIN}
_GRANTS_NVFP4: Final = (0, 20)
"""Earlier releases ignore the setting of the checkpoint."""
_SPARSE_IS_FP8: Final = (0, 24)
"""Since this release there are sparse kernels for SM 12.x, and they only support FP8."""


def kv_format(shape: Shape, options: ServerOptions) -> Format | Unknown:
    """Return the format of keys and values: from the option, the checkpoint, or the dtype of the activations."""
    word = options.kv_cache_dtype
    if word == "auto":
        asked = None if shape.kv_dtype == "nvfp4" and options.release < _GRANTS_NVFP4 else shape.kv_dtype
        word = asked or ("bfloat16" if options.dtype == "auto" else options.dtype)
        word = "fp8" if _packs(shape, options) else word
    elif word == "bfloat16" and _packs(shape, options):
        return Unknown(("kv_cache_dtype: fp8 or auto, the only values that sparse attention supports here",))
    known = _SPARSE if shape.sparse else _FORMATS
    return known.get(word) or Unknown((f"bytes of the KV dtype {word}",))


def _packs(shape: Shape, options: ServerOptions) -> bool:
    """Return whether FP8 is the only format; compressed attention has no other one in any release."""
    if shape.sparse is None:
        return False
    return options.release >= _SPARSE_IS_FP8 or not any(isinstance(each, Latent) for each in shape.sparse.caches)


def token_bytes(layer: Attention | Latent, *, kept: Format, ranks: int) -> int:
    """Return the bytes of one token in one layer on each rank of tensor parallelism.

    A rank has at least one head; every rank has the whole latent vector.
    """
    if isinstance(layer, Attention):
        return max(1, layer.kv_heads // ranks) * (kept.size(layer.head_size) + kept.size(layer.value_size))
    return layer.packed_bytes if layer.packed_bytes and kept == _FP8 else kept.size(layer.size)


def state_bytes(layer: State, *, shape: Shape, options: ServerOptions, speculative_tokens: int) -> int | Unknown:
    """Return the bytes of one state of one layer on one rank: convolution inputs and the recurrent part."""
    plain = _first_stated(options.mamba_cache_dtype, options.dtype, "bfloat16")
    recurrent = _first_stated(options.mamba_ssm_cache_dtype, shape.state_dtype or "auto", plain)
    odd = tuple(f"bytes of the state dtype {word}" for word in (plain, recurrent) if word not in _STATE_BYTES)
    if odd:
        return Unknown(odd)
    ranks = options.tensor_parallel_size
    channels, heads, elements = _linear(layer) if isinstance(layer, Linear) else _mamba(layer, ranks)
    taps = layer.kernel - 1 + speculative_tokens
    return channels // ranks * taps * _STATE_BYTES[plain] + heads // ranks * elements * _STATE_BYTES[recurrent]


def _first_stated(*words: str) -> str:
    return next(word for word in words if word != "auto")


def _linear(layer: Linear) -> tuple[int, int, int]:
    channels = 2 * layer.key_heads * layer.key_size + layer.value_heads * layer.value_size
    return channels, layer.value_heads, layer.value_size * layer.key_size


def _mamba(layer: Mamba2, ranks: int) -> tuple[int, int, int]:
    # Each rank needs the groups of its heads; groups that cannot be divided are replicated.
    groups = layer.groups + (0 if layer.groups % ranks == 0 else ranks - layer.groups)
    channels = layer.heads * layer.head_size + 2 * groups * layer.state_size
    return channels, layer.heads, layer.head_size * layer.state_size
