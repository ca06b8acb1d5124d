"""Memory that a server uses beside weights and KV cache: inside the memory that it requests, and in addition to it.

Each term has a formula, whose constants come from recorded starts: docs/memory.md compares both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from sparkiac.memory.activations import (
    drafter_bytes,
    encoded_bytes,
    encoder_bytes,
    language_bytes,
    unpacked_bytes,
)
from sparkiac.memory.layers import Shape
from sparkiac.memory.options import ServerOptions, Speculation
from sparkiac.memory.values import GIB, Term, not_negative
from sparkiac.model.inventory import Measured

RUNTIME_BYTES: Final = 3 * GIB
"""Memory of a server beside weights and KV cache, if the widths of the network are unknown: an assumption."""
RUNTIME_SOURCE: Final = "Spark guide L343-348: 0.85 of 119.21 GiB less 21.94 and 76.49 GiB leaves 2.90 GiB; rounded up"
_MIB: Final = 1 << 20
_GRAPHS_BYTES: Final = 100 * _MIB
GRAPH_BYTES: Final = 11 * _MIB
"""CUDA graphs: a fixed part, and one for each captured batch size. Eighteen starts on an H100: 0.15 to 1.52 GiB."""
GRAPHS_SPREAD: Final = (0.53, 1.73)
ACTIVATIONS_SPREAD: Final = (0.63, 1.31)
"""A tenth beyond the recorded sizes of starts on an H100, as shares of what these formulas give."""
_NCCL_BYTES: Final = 550 * _MIB
"""Buffers of NCCL on each rank, before the request: 0.53 GiB (two ranks, vLLM 0.23.0)."""
_FIRST_MEASURES: Final = (0, 20)
_SECOND_MEASURES: Final = (0, 29)
_SECOND_ENCODES: Final = (0, 27)
"""Since this release the V2 model runner runs the encoder while vLLM profiles."""
_SAMPLED_BYTES: Final = 8
"""The sampler copies logits to 32 bits, twice."""
_SECOND_SAMPLES: Final = (0, 26)
_LOGIT_BYTES: Final = 2
"""Since this release the sampler of the V2 model runner keeps the logits of the model while vLLM profiles."""
_TAKES_QUANTIZED: Final = (0, 24)
_TAKES_DENSE: Final = (0, 25)
"""Since this release the V2 model runner serves every network without experts and recurrent states."""
_MIXED_DRAFTERS: Final = (0, 26)
"""Since this release the V2 model runner serves DFlash drafters in which only some layers have a window."""
_SERVED: Final = {
    "Qwen3ForCausalLM": (0, 22),
    "LlamaForCausalLM": (0, 23),
    "MistralForCausalLM": (0, 23),
    "DeepseekV2ForCausalLM": (0, 24),
    "Qwen2MoeForCausalLM": (0, 24),
    "KimiK3ForConditionalGeneration": (0, 27),
    "DeepseekV4ForCausalLM": (0, 28),
}
"""Model class → the first release in which vLLM's V2 model runner serves it."""
_DRAFTS: Final = {"eagle": (0, 22), "eagle3": (0, 22), "dflash": (0, 24), "dspark": (0, 25)}
"""Speculative method besides MTP → the first release in which vLLM's V2 model runner supports it."""


class Device(NamedTuple):
    """What vLLM counts as memory outside PyTorch.

    On a discrete GPU it is the CUDA context and the libraries. Where CPU and GPU share one memory, it is also what the
    processes of the server allocate on the host at the same time, and files that stay in the page cache.
    """

    non_torch_bytes: int
    source: str
    low_bytes: int | None = None
    """Smallest size in recorded starts."""
    high_bytes: int | None = None
    """Largest size in recorded starts."""
    graphs: tuple[int, int] | None = None
    """Smallest and largest estimate of CUDA graphs in recorded starts; None if the formula itself gives a range."""


UNIFIED: Final = Device(
    3 * GIB,
    "measured on DGX Spark, with other allocations on the host",
    low_bytes=GIB,
    high_bytes=48 * GIB // 10,
    graphs=(0, 4 * GIB),
)
"""GPU and CPU with one memory. vLLM compares the available memory of the host (psutil) at the start and after
profiling, so all that any process allocates meanwhile counts as memory outside PyTorch. For the graphs it compares the
free memory that CUDA reports, which the page cache changes: logs estimate 0.18 to 3.96 GiB, and one less than zero."""


class OverheadFacts(NamedTuple):
    """Facts of a server that decide on these terms."""

    options: ServerOptions
    shape: Shape | None
    speculation: Speculation | None
    device: Device
    calibration: Measured | None


def inside(facts: OverheadFacts) -> tuple[Term, ...]:
    """Return the terms inside the requested memory: of an earlier start, else by the formulas."""
    measured = facts.calibration.overhead_bytes if facts.calibration else None
    if measured is not None:
        return (Term("runtime", measured, "measured: startup log"),)
    found = _profiled(facts)
    return found or (Term("runtime", RUNTIME_BYTES, RUNTIME_SOURCE, assumed=True),)


def measured_bytes(requested: int | None, weights: int | None, pool: int | None) -> int | None:
    """Return the requested memory without weights and KV cache; None if a part is unknown or too large."""
    if requested is None or weights is None or pool is None:
        return None
    return not_negative(requested - weights - pool)


def _profiled(facts: OverheadFacts) -> tuple[Term, ...]:
    options, shape = facts.options, facts.shape
    batch = options.max_num_batched_tokens
    if shape is None:
        return ()
    second = _second(shape, options.release, facts.speculation)
    sampled = _LOGIT_BYTES if second and options.release >= _SECOND_SAMPLES else _SAMPLED_BYTES
    language = language_bytes(batch, shape=shape, options=options, speculation=facts.speculation, sampled_bytes=sampled)
    if language is None:
        return ()
    language += drafter_bytes(batch, shape=shape, speculation=facts.speculation)
    encodes = _profiles_encoder(facts)
    encoder = encoder_bytes(batch, shape=shape, options=options) if encodes else 0
    what = "the largest images through the encoder" if encoder > language else "the widest layer and the logits"
    terms = [
        _runtime(facts.device),
        Term("activations", max(language, encoder), f"{what}, for one batch of {batch} tokens", assumed=True).between(
            *ACTIVATIONS_SPREAD
        ),
    ]
    if encodes and (waiting := encoded_bytes(batch, shape=shape, options=options)):
        terms.append(Term("encoder cache", waiting, "encoded images of one batch", assumed=True))
    if options.graph_sizes and measures_graphs(options, shape, facts.speculation):
        terms.append(_between(_graphs(facts), facts.device.graphs))
    return tuple(terms)


def _profiles_encoder(facts: OverheadFacts) -> bool:
    release = facts.options.release
    return release >= _SECOND_ENCODES or not (facts.shape and _second(facts.shape, release, facts.speculation))


def _runtime(device: Device) -> Term:
    source = f"CUDA context and libraries; {device.source}"
    return Term("runtime", device.non_torch_bytes, source, True, device.low_bytes, device.high_bytes)  # noqa: FBT003


def _between(term: Term, recorded: tuple[int, int] | None) -> Term:
    low, high = recorded or (term.low_bytes, 0)
    return term._replace(low_bytes=low, high_bytes=max(high, term.high_bytes or 0))


def outside(facts: OverheadFacts) -> Iterator[Term]:
    """Return the terms in addition to the requested memory."""
    options, calibration = facts.options, facts.calibration
    if options.graph_sizes and not measures_graphs(options, facts.shape, facts.speculation):
        source = "measured: startup log; in addition to the requested memory"
        measured = calibration.graphs_bytes if calibration else None
        yield _graphs(facts) if measured is None else Term("CUDA graphs", measured, source)
    if facts.shape and not _profiles_encoder(facts):
        yield from _images(options, facts.shape)
    if options.ranks > 1:
        yield Term("NCCL", _NCCL_BYTES, "buffers of a rank: 0.53 GiB in a start of two ranks", assumed=True)


def _images(options: ServerOptions, shape: Shape) -> Iterator[Term]:
    batch = options.max_num_batched_tokens
    size = encoder_bytes(batch, shape=shape, options=options) + encoded_bytes(batch, shape=shape, options=options)
    if size:
        source = "one batch of images, which this release does not measure before it allocates the pool"
        yield Term("encoder", size, source, assumed=True).between(0, 1)


def _graphs(facts: OverheadFacts) -> Term:
    options, shape, speculation = facts.options, facts.shape, facts.speculation
    size = _GRAPHS_BYTES + options.graph_sizes * GRAPH_BYTES
    if shape and speculation and speculation.predicts and not _second(shape, options.release, speculation):
        # The first runner captures MTP layers without a batch, so latent attention unpacks the longest prompt.
        size += unpacked_bytes(shape, options, speculation)
    estimate = Term("CUDA graphs", size, f"an estimate for {options.graph_sizes} batch sizes", assumed=True)
    return estimate.between(*GRAPHS_SPREAD)


def measures_graphs(options: ServerOptions, shape: Shape | None, speculation: Speculation | None) -> bool:
    """Return whether the requested memory includes CUDA graphs; an unknown network counts as one of the V1 runner.

    A model runner that measures its graphs before it allocates the pool includes them in the request; otherwise they
    are extra. Follows `use_v2_model_runner` in vLLM's `config/vllm.py` and `profile_cudagraph_memory` of both runners,
    0.19.1 to 0.32.0.
    """
    if options.release < _FIRST_MEASURES:
        return False
    second = shape is not None and _second(shape, options.release, speculation)
    return options.release >= _SECOND_MEASURES or not second


def _second(shape: Shape, release: tuple[int, ...], speculation: Speculation | None) -> bool:
    if speculation is not None:
        first = (0, 22) if speculation.predicts else _DRAFTS.get(speculation.method)
        if first is None or release < first:
            return False
        if speculation.method == "dspark" or (release >= _MIXED_DRAFTERS and _mixed(speculation)):
            return True
    named = any(release >= _SERVED[name] for name in shape.architectures if name in _SERVED)
    experts = shape.width.experts > 0
    if release >= _TAKES_DENSE:
        return named or not (experts or shape.hybrid)
    return named and (release >= _TAKES_QUANTIZED or not (experts or shape.quantized))


def _mixed(speculation: Speculation) -> bool:
    layers = speculation.drafter.layers if speculation.drafter and speculation.method == "dflash" else ()
    return len({getattr(layer, "window", None) is None for layer in layers}) > 1
