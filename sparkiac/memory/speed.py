"""What speed to expect: a range with its source, from bandwidth and from what sources state. Never a measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.memory.values import Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.memory.blocks import Cache
    from sparkiac.memory.layers import Width
    from sparkiac.model.facts import Prefill

BANDWIDTH: Final = 273 * 10**9
"""Bytes a second of the unified memory of one DGX Spark: Spark guide L25, L372."""
REACHED: Final = (0.35, 0.90)
"""Share of the roofline that the sources' figures without speculation reach: the table in docs/memory.md."""
_PACKED: Final = ("U8", "I8", "F4")


class Range(NamedTuple):
    """Two bounds of an expectation."""

    low: float
    high: float
    source: str


class Reads(NamedTuple):
    """Bytes of weights that one token reads, on one rank."""

    low: int
    high: int
    source: str


class Drafting(NamedTuple):
    """How drafts change a step: it reads the drafter for each of them, and checks them all at once."""

    tokens: int
    """Drafted tokens of a step."""
    low: float
    high: float
    """Bounds of the chance that a drafted token is accepted once those before it were."""
    drafter_bytes: int = 0
    routed: bool = False
    """Whether each drafted token may wake up other experts."""


def reads(
    weights_bytes: int | None,
    *,
    total_params: float | None = None,
    active_params: float | None = None,
    tensors: Mapping[str, int] | None = None,
    width: Width | None = None,
) -> Reads | Unknown:
    """Give what one token reads of the weights.

    With parameters alone, all are taken to be equally wide. With the lock's tensors, the packed ones are taken for
    the experts, of which a token reads its share, and all others are read as a whole: that is more.
    """
    if weights_bytes is None:
        return Unknown(("weights",))
    if total_params is None or active_params is None:
        return Unknown(("total and active parameters",))
    by_params = round(weights_bytes * active_params / total_params)
    by_tensors = _by_tensors(tensors, width)
    source = "loaded bytes times active over total parameters"
    if by_tensors is None:
        return Reads(by_params, by_params, source)
    both = sorted((by_params, min(by_tensors, weights_bytes)))
    return Reads(both[0], both[1], f"{source}; packed tensors as experts")


def decode(read: Reads, layout: Cache, *, context: int, drafting: Drafting | None = None) -> Range:
    """Give tokens a second of one request that has a number of tokens behind it."""
    drafts = drafting or Drafting(0, 0.0, 0.0)
    low, high = REACHED
    drafted = drafts.tokens * drafts.drafter_bytes
    most = read.high * (1 + drafts.tokens if drafts.routed else 1)
    slowest = steps(most + drafted, layout, context=context) * step_tokens(drafts.tokens, drafts.low)
    fastest = steps(read.low + drafted, layout, context=context) * step_tokens(drafts.tokens, drafts.high)
    return Range(
        low * slowest, high * fastest, f"{low:.0%} to {high:.0%} of the roofline at 273 GB/s (Spark guide L25)"
    )


def steps(weights_bytes: int, layout: Cache, *, context: int) -> float:
    """Give the steps a second at which the memory is read at its full bandwidth: the roofline.

    A step reads the weights, the keys and values of the request, and reads and writes its states.
    """
    return BANDWIDTH / (weights_bytes + context * layout.token_bytes + 2 * layout.state_bytes)


def step_tokens(drafts: int, acceptance: float) -> float:
    """Give the tokens of one step: one, and each drafted one if those before it were accepted."""
    return sum(acceptance**place for place in range(drafts + 1))


def prefill_seconds(tokens: int, *, rates: Prefill) -> Range:
    """Give the time to the first token of a prompt, from stated rates in tokens a second."""
    return Range(tokens / rates.high, tokens / rates.low, rates.source)


def _by_tensors(tensors: Mapping[str, int] | None, width: Width | None) -> int | None:
    if not tensors or width is None or not width.experts or not any(tensors.get(kind) for kind in _PACKED):
        return None
    packed = sum(tensors.get(kind, 0) for kind in _PACKED)
    wide = sum(2 * tensors.get(kind, 0) for kind in ("BF16", "F16")) + 4 * tensors.get("F32", 0)
    eight = sum(tensors.get(kind, 0) for kind in ("F8_E4M3", "F8_E8M0", "F8_E5M2"))
    # One scale of a byte for 16 elements of four bits; what else has eight bits is no expert.
    scales = min(eight, packed // 8)
    return (packed + scales) * width.experts_per_token // width.experts + eight - scales + wide
