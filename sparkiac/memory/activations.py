"""Memory of one batch of the largest size while vLLM profiles, from the tensors that each kind of layer holds at once.

vLLM runs the encoders first and then the language model. The larger peak counts; the encoded inputs stay in memory.
The layers are computed one after another, so the widest one counts. The workspace of the experts is allocated once and
kept, so it adds to the tensors of the other layers.
"""

from __future__ import annotations

from typing import Final

from sparkiac.memory.layers import Latent, Layer, Linear, Mamba2, Shape
from sparkiac.memory.options import ServerOptions, Speculation
from sparkiac.memory.pages import paged
from sparkiac.memory.values import GIB, Unknown

_ELEMENT_BYTES: Final = 2
_TUNING_BYTES: Final = GIB // 4
"""While Triton chooses the parameters of a kernel, it clears the L2 cache with a buffer of 256 MiB."""
_LATENT_TOKENS: Final = 65_536
"""Tokens whose keys and values latent attention unpacks at once, unless each request needs a longer block (vLLM,
MLACommonMetadataBuilder.determine_chunked_prefill_workspace_size)."""
_OUTER_WIDTHS: Final = 5
"""Factor on the hidden size of an encoder layer: 3.40 GiB of 131,072 patches (vLLM 0.23.0, H100)."""
_LAYERS_READ: Final = {"eagle": 1, "eagle3": 3, "dflash": 5, "dspark": 5}
"""Method → number of layers of the model whose output the drafter reads; MTP layers read one."""
_DRAFTER_INPUTS: Final = 3
"""Vectors of the hidden size that a drafter holds beside these outputs: the last output of the model, the embedding of
the token, and both combined."""


def language_bytes(
    tokens: int, *, shape: Shape, options: ServerOptions, speculation: Speculation | None, sampled_bytes: int
) -> int | None:
    """Return the bytes of the widest layer and the logits for a batch; None if the widths are unknown.

    `sampled_bytes` is what the sampler holds for each request and word.
    """
    width = shape.width
    if width.hidden is None or width.vocabulary is None:
        return None
    widest = 2 * width.hidden + _widest(shape) // options.tensor_parallel_size
    rows = min(tokens, options.max_num_seqs * (1 + (speculation.tokens if speculation else 0)))
    at_once = max(_TUNING_BYTES, unpacked_bytes(shape, options, speculation))
    return tokens * widest * _ELEMENT_BYTES + rows * width.vocabulary * sampled_bytes + at_once


def drafter_bytes(tokens: int, *, shape: Shape, speculation: Speculation | None) -> int:
    """Return the bytes of a batch that a drafter reads: the output of each layer, their concatenation, its inputs."""
    if speculation is None:
        return 0
    layers = 1 if speculation.predicts else _LAYERS_READ.get(speculation.method, 0)
    vectors = 2 * layers + _DRAFTER_INPUTS if layers else 0
    return vectors * tokens * (shape.width.hidden or 0) * _ELEMENT_BYTES


def unpacked_bytes(shape: Shape, options: ServerOptions, speculation: Speculation | None) -> int:
    """Return the bytes of the keys and values that latent attention unpacks for a long prompt."""
    if not any(isinstance(layer, Latent) for layer in shape.layers):
        return 0
    context = options.max_model_len or shape.context or _LATENT_TOKENS
    pages = paged(shape, options, speculation)
    block = 0 if isinstance(pages, Unknown) else max(page.block_tokens for page in pages)
    tokens = max(min(8 * context, _LATENT_TOKENS), options.max_num_seqs * block)
    return tokens * shape.width.latent_elements // options.tensor_parallel_size * _ELEMENT_BYTES


def encoder_bytes(tokens: int, *, shape: Shape, options: ServerOptions) -> int:
    """Return the bytes of the image encoder; 0 if its sizes are unknown."""
    vision = shape.vision
    if vision is None or not options.encodes:
        return 0
    # vLLM profiles one image of the largest size, even if it has more tokens than a batch.
    patches = max(tokens, vision.item_tokens) * vision.token_patches
    return patches * (2 * vision.intermediate + _OUTER_WIDTHS * vision.hidden) * _ELEMENT_BYTES


def encoded_bytes(tokens: int, *, shape: Shape, options: ServerOptions) -> int:
    """Return the bytes of encoded images and audio in the cache of encoder outputs."""
    return tokens * (shape.width.hidden or 0) * _ELEMENT_BYTES if shape.encoders and options.encodes else 0


def _widest(shape: Shape) -> int:
    """Return the elements that the widest layer holds for a token, with the workspace of the experts."""
    width = shape.width
    inner, hidden = width.expert_intermediate or 0, width.hidden or 0
    workspace = width.experts_per_token * (max(inner, hidden) + max(2 * inner, hidden))
    return max(3 * (width.intermediate or 0), workspace + max(map(_recurrent, set(shape.layers)), default=0))


def _recurrent(layer: Layer | None) -> int:
    """Return the elements that a recurrent layer holds for a token: projections, convolution, output and gate.

    While vLLM profiles, the kernels of the recurrence itself do not run, or with a few tokens only.
    """
    if isinstance(layer, Linear):
        return 4 * (layer.key_heads * layer.key_size + layer.value_heads * layer.value_size)
    if isinstance(layer, Mamba2):
        inner, groups = layer.heads * layer.head_size, 2 * layer.groups * layer.state_size
        return (2 * inner + groups) + (inner + groups) + 2 * inner
    return 0
