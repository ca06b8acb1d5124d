"""Memory of one batch of the largest size while vLLM profiles, from the tensors that each kind of layer holds at once.

vLLM runs the encoders first and then the language model. The larger peak counts; the encoded inputs stay in memory.
The layers are computed one after another, so the widest one counts.
"""

from __future__ import annotations

from typing import Final

from sparkiac.memory.layers import Latent, Layer, Linear, Mamba2, Shape, Vision
from sparkiac.memory.options import ServerOptions, Speculation
from sparkiac.memory.values import GIB

_ELEMENT_BYTES: Final = 2
_SAMPLED_BYTES: Final = 8
"""The sampler copies logits to 32 bits, twice."""
_TUNING_BYTES: Final = GIB // 4
"""While Triton chooses the parameters of a kernel, it clears the L2 cache with a buffer of 256 MiB."""
_CHUNK: Final = 64
"""Tokens in a chunk of Gated DeltaNet."""
_MAMBA_CHUNK: Final = 128
_LATENT_TOKENS: Final = 65_536
"""Most tokens whose keys and values latent attention unpacks at once (vLLM, MLACommonMetadataBuilder)."""
_OUTER_WIDTHS: Final = 5
"""Factor on the hidden size of an encoder layer: 3.40 GiB of 131,072 patches (vLLM 0.23.0, H100)."""
_LAYERS_READ: Final = {"eagle": 1, "eagle3": 3, "dflash": 5, "dspark": 5}
"""Method → number of layers of the model whose output the drafter reads."""


def language_bytes(tokens: int, *, shape: Shape, options: ServerOptions, speculation: Speculation | None) -> int | None:
    """Return the bytes of the widest layer and the logits for a batch; None if the widths are unknown."""
    width = shape.width
    if width.hidden is None or width.vocabulary is None:
        return None
    widest = 2 * width.hidden + _widest(shape) // options.tensor_parallel_size
    rows = min(tokens, options.max_num_seqs * (1 + (speculation.tokens if speculation else 0)))
    at_once = max(_TUNING_BYTES, _unpacked_bytes(shape, options))
    return tokens * widest * _ELEMENT_BYTES + rows * width.vocabulary * _SAMPLED_BYTES + at_once


def drafter_bytes(tokens: int, *, shape: Shape, speculation: Speculation | None) -> int:
    """Return the bytes of a batch that a drafter reads: the output of each layer, and their concatenation."""
    layers = _LAYERS_READ.get(speculation.method, 0) if speculation else 0
    return 2 * layers * tokens * (shape.width.hidden or 0) * _ELEMENT_BYTES


def encoder_bytes(tokens: int, *, shape: Shape, options: ServerOptions) -> int:
    """Return the bytes of the image encoder; 0 if its sizes are unknown."""
    vision = shape.vision if options.encodes else None
    return _patches(vision, tokens) * _patch_width(vision) * _ELEMENT_BYTES if vision else 0


def encoded_bytes(tokens: int, *, shape: Shape, options: ServerOptions) -> int:
    """Return the bytes of encoded images and audio in the cache of encoder outputs."""
    return tokens * (shape.width.hidden or 0) * _ELEMENT_BYTES if shape.encoders and options.encodes else 0


def _widest(shape: Shape) -> int:
    """Return the elements that the widest layer holds for a token."""
    width = shape.width
    dense = 3 * (width.intermediate or 0)
    routed = width.experts_per_token * (3 * (width.expert_intermediate or 0) + (width.hidden or 0))
    return max(dense, routed, *(_recurrent(layer) for layer in set(shape.layers)))


def _recurrent(layer: Layer | None) -> int:
    """Return the elements that a recurrent layer holds for a token: projections, convolution, chunks and states."""
    if isinstance(layer, Linear):
        keys, values = layer.key_heads * layer.key_size, layer.value_heads * layer.value_size
        spread = layer.value_heads * layer.key_size
        state = spread * layer.value_size // _CHUNK
        return (
            2 * (keys + values)
            + (2 * keys + values)
            + 2 * keys
            + 3 * _CHUNK * layer.value_heads
            + spread
            + (3 * values + state)
        )
    if isinstance(layer, Mamba2):
        inner, groups = layer.heads * layer.head_size, 2 * layer.groups * layer.state_size
        return (2 * inner + groups) + (inner + groups) + 2 * inner * layer.state_size // _MAMBA_CHUNK + 2 * inner
    return 0


def _unpacked_bytes(shape: Shape, options: ServerOptions) -> int:
    """Return the bytes of the keys and values that latent attention unpacks for a long prompt."""
    if not any(isinstance(layer, Latent) for layer in shape.layers):
        return 0
    context = options.max_model_len or shape.context or _LATENT_TOKENS
    tokens = min(8 * context, _LATENT_TOKENS)
    return tokens * shape.width.latent_elements // options.tensor_parallel_size * _ELEMENT_BYTES


def _patches(vision: Vision, tokens: int) -> int:
    # vLLM profiles one image of the largest size, even if it has more tokens than a batch.
    return max(tokens, vision.item_tokens) * vision.token_patches


def _patch_width(vision: Vision) -> int:
    return 2 * vision.intermediate + _OUTER_WIDTHS * vision.hidden
