"""Size of the weights of a model on one rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sparkiac.memory.layers import Width
from sparkiac.memory.options import ServerOptions
from sparkiac.memory.values import Term, Unknown, ceil_div, known_bytes

# Bits of the element types of safetensors.
_BITS: Final = {
    **dict.fromkeys(("F64", "I64", "U64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("BF16", "F16", "I16", "U16"), 16),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "F8_E8M0", "I8", "U8", "BOOL"), 8),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    "F4": 4,
}
_WIDE: Final = ("BF16", "F16", "F32")


def weights(
    name: str,
    *,
    options: ServerOptions,
    tensors: Mapping[str, int] | None = None,
    tensor_bytes: int | None = None,
    stated: Term | None = None,
) -> Term:
    """Return the weights of one rank: from the tensors of the lock, else from a source's size of all ranks.

    `tensors` maps element types of safetensors to numbers of elements. The ranks share evenly, rounded up. Small
    tensors that every rank holds are ignored; the size is marked as an assumption.
    """
    size, source = _size(tensors, tensor_bytes), "tensors of the locked files"
    if size is None and stated:
        size, source = known_bytes(stated.size_bytes), stated.source
    if size is None:
        return Term(name, Unknown((name,)), "neither the lock nor a source states it")
    ranks = options.tensor_parallel_size * options.pipeline_parallel_size
    shared = source if ranks == 1 else f"{source}; an even share of {ranks} ranks"
    return Term(name, ceil_div(size, ranks), shared, assumed=ranks > 1)


def quantized_at_load(whole: Term, *, options: ServerOptions, tensors: Mapping[str, int], width: Width) -> Term:
    """Return the weights of a 16-bit checkpoint after `--quantization fp8`.

    Linear layers shrink from two bytes to one. Embeddings and output layer keep 16 bits, so their size must be known. A
    checkpoint that is already quantized does not change.
    """
    elements = sum(tensors.get(kind, 0) for kind in _WIDE)
    if not tensors or elements < sum(tensors.values()):
        return whole
    if width.hidden is None or width.vocabulary is None:
        return Term(
            whole.name,
            Unknown((whole.name,)),
            "hidden_size and vocab_size decide what --quantization fp8 leaves in 16 bits",
        )
    kept = min(elements, 2 * width.hidden * width.vocabulary)
    ranks = options.tensor_parallel_size * options.pipeline_parallel_size
    size = ceil_div(elements - kept + 2 * kept, ranks)
    return Term(whole.name, size, f"{whole.source}; linear layers in 8 bits, embeddings in 16", assumed=True)


def _size(tensors: Mapping[str, int] | None, tensor_bytes: int | None) -> int | None:
    if tensor_bytes is not None:
        return tensor_bytes
    if not tensors or not tensors.keys() <= _BITS.keys():
        return None
    return sum(ceil_div(elements * _BITS[kind], 8) for kind, elements in tensors.items())
