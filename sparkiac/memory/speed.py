"""Expected speed, as a range with its source: from memory bandwidth and published rates, not measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.memory.values import Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.memory.blocks import Cache
    from sparkiac.memory.layers import Width
    from sparkiac.model.facts import Prefill

BANDWIDTH: Final = 273 * 10**9
"""Memory bandwidth of one DGX Spark in bytes per second: Spark guide L25, L372."""
REACHED: Final = (0.35, 0.90)
"""Share of the roofline that published rates without speculation reach: see the table in docs/memory.md."""
_PACKED: Final = ("U8", "I8", "F4")


class Range(NamedTuple):
    """Bounds of an expected value."""

    low: float
    high: float
    source: str


class Reads(NamedTuple):
    """Bytes of weights that are read for one token on one rank."""

    low: int
    high: int
    source: str


class Drafting(NamedTuple):
    """Speculative decoding: each step reads the drafter once per drafted token and verifies all of them together."""

    tokens: int
    """Drafted tokens in a step."""
    low: float
    high: float
    """Bounds of the acceptance rate of a drafted token, given that the previous ones were accepted."""
    drafter_bytes: int = 0
    routed: bool = False
    """Whether each drafted token can use other experts."""


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
    source = "loaded bytes times active over total parameters"
    if by_tensors is None:
        return Reads(by_params, by_params, source)
    both = sorted((by_params, min(by_tensors, weights_bytes)))
    return Reads(both[0], both[1], f"{source}; packed tensors as experts")


def decode(read: Reads, layout: Cache, *, context: int, drafting: Drafting | None = None) -> Range:
    """Return tokens per second of one request after `context` tokens."""
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
    """Return the steps per second at full memory bandwidth: the roofline.

    A step reads the weights and the KV cache of the request, and reads and writes its states.
    """
    return BANDWIDTH / (weights_bytes + context * layout.token_bytes + 2 * layout.state_bytes)


def step_tokens(drafts: int, acceptance: float) -> float:
    """Return the expected tokens of one step: one, and each drafted token if all previous ones were accepted."""
    return sum(acceptance**place for place in range(drafts + 1))


def prefill_seconds(tokens: int, *, rates: Prefill) -> Range:
    """Return the time to first token of a prompt, from published rates in tokens per second."""
    return Range(tokens / rates.high, tokens / rates.low, rates.source)


def _by_tensors(tensors: Mapping[str, int] | None, width: Width | None) -> int | None:
    if not tensors or width is None or not width.experts or not any(tensors.get(kind) for kind in _PACKED):
        return None
    packed = sum(tensors.get(kind, 0) for kind in _PACKED)
    wide = sum(2 * tensors.get(kind, 0) for kind in ("BF16", "F16")) + 4 * tensors.get("F32", 0)
    eight = sum(tensors.get(kind, 0) for kind in ("F8_E4M3", "F8_E8M0", "F8_E5M2"))
    # One scale of a byte for 16 elements of four bits; other tensors of eight bits are not experts.
    scales = min(eight, packed // 8)
    return (packed + scales) * width.experts_per_token // width.experts + eight - scales + wide
