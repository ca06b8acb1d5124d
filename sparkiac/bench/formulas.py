"""The formulas of benchmarks. Times are in seconds, speeds in tokens per second, shares from 0 to 1.

Benchmarks divide in different ways. `decode_speed` is the one of sparkiac, of `vllm bench serve` (1000 / TPOT) and of
the script of the Spark guide (section 10). `effective_speed` counts the first token as well: the vLLM blog and
tool-eval-bench use it, and it is higher, by 1/n for n tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def prefill_speed(prompt_tokens: int, ttft_s: float) -> float | None:
    """Return the prompt tokens per second until the first token."""
    return prompt_tokens / ttft_s if prompt_tokens and ttft_s > 0 else None


def decode_speed(output_tokens: int, ttft_s: float, total_s: float) -> float | None:
    """Return the tokens per second after the first one; None for a single token or a stream of one part."""
    return (output_tokens - 1) / (total_s - ttft_s) if output_tokens > 1 and total_s > ttft_s else None


def effective_speed(output_tokens: int, ttft_s: float, total_s: float) -> float | None:
    """Return all tokens per second of decoding."""
    return output_tokens / (total_s - ttft_s) if output_tokens and total_s > ttft_s else None


def throughput(output_tokens: int, seconds: float) -> float:
    """Return the generated tokens per second of all requests together."""
    return output_tokens / seconds if seconds > 0 else 0.0


def change(before: float, after: float) -> float:
    """Return the relative change: 0.1 is 10 % more."""
    return after / before - 1


def draft_length(acceptance: float, drafted: float) -> float:
    """Return the accepted tokens per draft of `drafted` tokens, tool-eval-bench's τ."""
    return acceptance * drafted


def waste(acceptance: float) -> float:
    """Return the share of drafted tokens that were rejected."""
    return 1 - acceptance


def draft_speed(effective: float, acceptance: float, drafted: int) -> float:
    """Return the drafted tokens per second: each step yields one token and the accepted ones."""
    return drafted * effective / (1 + draft_length(acceptance, drafted))


def step_tokens(per_position: Sequence[float]) -> float:
    """Return the tokens per step from the acceptance at each position, given that the previous ones were accepted."""
    found, product = 1.0, 1.0
    for acceptance in per_position:
        product *= acceptance
        found += product
    return found


def half_up(value: float, digits: int = 0) -> float:
    """Round as printed tables do: 0.5 up. Python's own `round` takes the even neighbour."""
    factor = 10.0**digits
    return int(value * factor + (0.5 if value >= 0 else -0.5)) / factor


def score(points: float, most: float) -> float:
    """Return points as a percentage of the highest possible number."""
    return 100 * points / most


def deployability(quality: float, responsiveness: float, weight: float = 0.7) -> float:
    """Return tool-eval-bench's combined score."""
    return weight * quality + (1 - weight) * responsiveness
