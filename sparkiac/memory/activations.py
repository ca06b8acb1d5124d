"""Memory of one batch of the largest size while vLLM profiles: estimates, calibrated with logged starts.

vLLM runs the encoders first and then the language model. The larger peak counts; the encoded inputs stay in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.memory.layers import Linear

if TYPE_CHECKING:
    from sparkiac.memory.layers import Shape, Vision
    from sparkiac.memory.options import ServerOptions, Speculation

_ELEMENT_BYTES: Final = 2
_SAMPLED_BYTES: Final = 4
"""Logits have 16 bits, and the sampler copies them to 32 bits."""
_PROJECTIONS: Final = 7
"""Factor on the projections of a Gated DeltaNet layer: 1.39 GiB of 8,192 tokens (vLLM 0.23.0, H100)."""
_OUTER_WIDTHS: Final = 5
"""Factor on the hidden size of an encoder layer: 3.40 GiB of 131,072 patches (the same start)."""
_LAYERS_READ: Final = {"eagle": 1, "eagle3": 3, "dflash": 5, "dspark": 5}
"""Method → number of layers of the model whose output the drafter reads."""


def language_bytes(tokens: int, *, shape: Shape, options: ServerOptions, speculation: Speculation | None) -> int | None:
    """Return the bytes of the widest layer and the logits for a batch; None if the widths are unknown."""
    width, ranks = shape.width, options.tensor_parallel_size
    if width.hidden is None or width.vocabulary is None:
        return None
    dense = 3 * (width.intermediate or 0) // ranks
    routed = width.experts_per_token * (3 * (width.expert_intermediate or 0) // ranks + width.hidden)
    widest = 2 * width.hidden + max(dense, routed, _recurrent(shape) // ranks)
    rows = min(tokens, options.max_num_seqs * (1 + (speculation.tokens if speculation else 0)))
    return tokens * widest * _ELEMENT_BYTES + rows * width.vocabulary * (_ELEMENT_BYTES + _SAMPLED_BYTES)


def drafter_bytes(tokens: int, *, shape: Shape, speculation: Speculation | None) -> int:
    """Return the bytes of a batch that a drafter reads: the output of each layer, and their concatenation."""
    layers = _LAYERS_READ.get(speculation.method, 0) if speculation else 0
    return 2 * layers * tokens * (shape.width.hidden or 0) * _ELEMENT_BYTES


def encoder_bytes(tokens: int, *, shape: Shape, options: ServerOptions) -> int:
    """Return the bytes of the image encoder; 0 if its sizes are unknown."""
    vision = shape.vision if options.encodes else None
    return _patches(vision, tokens) * _patch_width(vision) * _ELEMENT_BYTES if vision else 0


def encoded_bytes(tokens: int, *, shape: Shape, options: ServerOptions) -> int:
    """Return the bytes of the encoded inputs that wait for the language model."""
    return tokens * (shape.width.hidden or 0) * _ELEMENT_BYTES if shape.encoders and options.encodes else 0


def _recurrent(shape: Shape) -> int:
    layers = [layer for layer in shape.layers if isinstance(layer, Linear)]
    projected = (2 * (each.key_heads * each.key_size + each.value_heads * each.value_size) for each in layers)
    return _PROJECTIONS * max(projected, default=0)


def _patches(vision: Vision, tokens: int) -> int:
    # vLLM profiles one image of the largest size, even if it has more tokens than a batch.
    return max(tokens, vision.item_tokens) * vision.token_patches


def _patch_width(vision: Vision) -> int:
    return 2 * vision.intermediate + _OUTER_WIDTHS * vision.hidden
