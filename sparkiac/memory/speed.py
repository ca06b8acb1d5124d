"""Expected speed, as a range with its source: from memory bandwidth, time per layer and published rates.

The time of a decode step is the bytes that it reads divided by a share of the bandwidth, and a constant for each layer:
starting kernels, routing, small kernels. Both have bounds by the class of the network; eager mode, ranks on other hosts
and older kernels make the slower one longer. docs/memory.md compares the ranges with published speeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from sparkiac.memory.blocks import Cache
from sparkiac.memory.layers import Shape, Width
from sparkiac.memory.options import ServerOptions
from sparkiac.memory.values import Unknown
from sparkiac.model.facts import Prefill

_PACKED: Final = ("U8", "I8", "F4")
_OUTPUT_BITS: Final = (16, 4)
_EAGER_S: Final = 600e-6
"""Most seconds for a layer without CUDA graphs: 594 us (gpt-oss-120b: 58.5 tokens per second with, 26 without)."""
_EAGER_STATES_S: Final = 1500e-6
"""The same of a network with recurrent states: 1,450 us (Nemotron-3-Nano on an H100, 12.7 tokens per second)."""
_LINK_S: Final = 150e-6
"""Most seconds for the two all-reduces of a layer between hosts, from the time that Qwen3-235B on two took beside
reading its weights."""
_FAST_MXFP4: Final = (0, 19)
"""First release in which a start of gpt-oss-120b was as fast as other networks with experts."""
_SLOW_MXFP4_S: Final = 150e-6
"""Most seconds for a layer in earlier releases: 33.5 tokens per second in 0.15.1 (NVIDIA/dgx-spark-playbooks#79)."""


class Pace(NamedTuple):
    """Bounds of a step: share of the bandwidth, and seconds for each layer."""

    share: tuple[float, float]
    layer_s: tuple[float, float]
    """Slowest and fastest."""
    prefill: tuple[float, float]
    """Active parameters times tokens per second of a prompt, in 10^12."""


class GpuSpeed(NamedTuple):
    """A kind of GPU."""

    bandwidth: int
    """Memory bandwidth in bytes per second."""
    source: str
    dense: Pace
    routed: Pace
    """Networks with experts."""


SPARK: Final = GpuSpeed(
    273 * 10**9,
    "273 GB/s (Spark guide L25)",
    dense=Pace((0.48, 0.92), (100e-6, 0.0), (25.0, 45.0)),
    routed=Pace((0.70, 0.92), (300e-6, 90e-6), (14.0, 28.0)),
)


class Range(NamedTuple):
    """Bounds of an expected value."""

    low: float
    high: float
    source: str


class Reads(NamedTuple):
    """Bytes of weights that are read for one token on one rank."""

    low: int
    high: int


class Drafting(NamedTuple):
    """Speculative decoding: each step reads the drafter once per drafted token and verifies all of them together."""

    tokens: int
    """Drafted tokens in a step."""
    low: float
    high: float
    """Bounds of the acceptance rate of a drafted token, given that the previous ones were accepted."""
    drafter_bytes: int = 0
    output_elements: int = 0
    """Elements of the model's output layer, if each drafted token reads it: 4 to 16 bits each."""
    growth: tuple[float, float] = (1.0, 1.0)
    """Bounds of the factor on the bytes of a step: each verified token can use other experts."""


def reads(
    weights_bytes: int | None,
    *,
    total_params: float | None = None,
    active_params: float | None = None,
    tensors: Mapping[str, int] | None = None,
    width: Width | None = None,
) -> Reads | Unknown:
    """Return the bytes of weights that are read for one token.

    Without tensors, all parameters are assumed to have the same width. With the tensors of the lock, packed ones are
    assumed to be experts, of which a token reads its share; all others are read completely.
    """
    if weights_bytes is None:
        return Unknown(("weights",))
    if total_params is None or active_params is None:
        return Unknown(("total and active parameters",))
    by_params = round(weights_bytes * active_params / total_params)
    by_tensors = _by_tensors(tensors, width)
    low, high = sorted((by_params, by_params if by_tensors is None else min(by_tensors, weights_bytes)))
    return Reads(low, high)


def growth(width: Width, tokens: int, *, active_params: float | None) -> tuple[float, float]:
    """Return the factors on the active bytes of a step that verifies `tokens` drafts.

    If tokens choose experts independently, a step reads E (1 - (1 - k/E)^n) of E experts instead of k. Tokens of one
    text share experts: the lower bound takes half of the additional ones. If the share of experts in the active
    parameters is unknown, the upper bound takes all of them.
    """
    if not width.experts or not width.experts_per_token:
        return 1.0, 1.0
    chosen = width.experts_per_token / width.experts
    more = (1 - (1 - chosen) ** (tokens + 1)) / chosen - 1
    routed = 3 * width.expert_layers * width.experts_per_token * (width.hidden or 0) * (width.expert_intermediate or 0)
    if not routed or not active_params:
        return 1.0, 1 + more
    share = min(1.0, routed / active_params)
    return 1 + share * more / 2, 1 + share * more


def decode(  # noqa: PLR0913  the facts of one estimate, each under its name
    read: Reads,
    layout: Cache,
    *,
    context: int,
    shape: Shape,
    drafting: Drafting | None = None,
    servers: int = 1,
    machine: GpuSpeed = SPARK,
    slower_s: float = 0.0,
) -> Range:
    """Return tokens per second of one request after `context` tokens, while `servers` decode on one memory.

    `slower_s` is what the options add to each layer at most.
    """
    drafts = drafting or Drafting(0, 0.0, 0.0)
    pace = _pace(shape, machine)
    pace = pace._replace(layer_s=(pace.layer_s[0] + slower_s, pace.layer_s[1]))
    drafted = (drafts.drafter_bytes + bits * drafts.output_elements // 8 for bits in _OUTPUT_BITS)
    bounds = zip((read.high, read.low), reversed(drafts.growth), drafted, pace.share, pace.layer_s, strict=True)
    slowest, fastest = (
        servers
        * step_bytes(round(size * factor) + drafts.tokens * each, layout, context=context)
        / (share * machine.bandwidth)
        + len(shape.layers) * layer_s
        for size, factor, each, share, layer_s in bounds
    )
    return Range(
        step_tokens(drafts.tokens, drafts.low) / slowest,
        step_tokens(drafts.tokens, drafts.high) / fastest,
        f"{pace.share[0]:.0%} to {pace.share[1]:.0%} of {machine.source}, and {1e6 * pace.layer_s[1]:.0f} to "
        f"{1e6 * pace.layer_s[0]:.0f} us for each layer",
    )


def slower_layer_s(shape: Shape, options: ServerOptions) -> float:
    """Return the most seconds that eager mode, ranks on other hosts and older kernels add to each layer."""
    eager = _EAGER_STATES_S if shape.hybrid else _EAGER_S
    old = "GptOssForCausalLM" in shape.architectures and options.release < _FAST_MXFP4
    added = ((eager, options.graph_sizes == 0), (_LINK_S, options.tensor_parallel_size > 1), (_SLOW_MXFP4_S, old))
    return sum(seconds for seconds, applies in added if applies)


def between(known: Mapping[int, Range], context: int) -> Range | None:
    """Return the speed at a context from those at others: the time of a token grows linearly. None beyond the last."""
    around = next((pair for pair in pairwise(sorted(known)) if context <= pair[1]), None)
    if around is None:
        return None
    (first, last), part = (known[each] for each in around), (context - around[0]) / (around[1] - around[0])
    low = first.low * last.low / (last.low + (first.low - last.low) * part)
    high = first.high * last.high / (last.high + (first.high - last.high) * part)
    return Range(low, high, first.source) if 0 < low <= high else None


def step_bytes(weights_bytes: int, layout: Cache, *, context: int) -> int:
    """Return the bytes of one decode step: it reads weights and KV cache, and reads and writes recurrent states."""
    return weights_bytes + context * layout.token_bytes + 2 * layout.state_bytes


def step_tokens(drafts: int, acceptance: float) -> float:
    """Return the expected tokens of one step: one, and each drafted token if all previous ones were accepted."""
    return sum(acceptance**place for place in range(drafts + 1))


def prefill_seconds(tokens: int, *, rates: Prefill) -> Range:
    """Return the time to first token of a prompt, from published rates in tokens per second."""
    return Range(tokens / rates.high, tokens / rates.low, rates.source)


def step_s(weights_bytes: int, shape: Shape, *, machine: GpuSpeed = SPARK) -> float:
    """Return the most seconds that a step takes beside the computation of its tokens: it reads all weights once."""
    pace = _pace(shape, machine)
    return weights_bytes / (pace.share[0] * machine.bandwidth) + len(shape.layers) * pace.layer_s[0]


def prefill_rates(shape: Shape, active_params: float, *, machine: GpuSpeed = SPARK) -> Range:
    """Return the prefill rate in tokens per second that the class of a network suggests, if none is published."""
    low, high = (bound * 10**12 / active_params for bound in _pace(shape, machine).prefill)
    kind = "routed" if shape.width.experts else "dense"
    return Range(low, high, f"{kind} networks on this GPU, by active parameters")


def _pace(shape: Shape, machine: GpuSpeed) -> Pace:
    return machine.routed if shape.width.experts else machine.dense


def _by_tensors(tensors: Mapping[str, int] | None, width: Width | None) -> int | None:
    if not tensors or width is None or not width.experts or not any(tensors.get(kind) for kind in _PACKED):
        return None
    packed = sum(tensors.get(kind, 0) for kind in _PACKED)
    wide = sum(2 * tensors.get(kind, 0) for kind in ("BF16", "F16")) + 4 * tensors.get("F32", 0)
    eight = sum(tensors.get(kind, 0) for kind in ("F8_E4M3", "F8_E8M0", "F8_E5M2"))
    # One scale of a byte for 16 elements of four bits; other tensors of eight bits are not experts.
    scales = min(eight, packed // 8)
    return (packed + scales) * width.experts_per_token // width.experts + eight - scales + wide
