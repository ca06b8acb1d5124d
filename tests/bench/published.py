"""The formulas of other benchmarks, with which tests compute what their authors printed."""

from __future__ import annotations

from sparkiac.bench import client


def effective_speed(output_tokens: int, ttft_s: float, total_s: float) -> float:
    """Return all tokens per second of decoding, as the vLLM blog and tool-eval-bench count them."""
    return output_tokens / (total_s - ttft_s)


def draft_speed(effective: float, acceptance: float, drafted: int) -> float:
    """Return the drafted tokens per second: each step yields one token and the accepted ones."""
    return drafted * effective / (1 + client.draft_length(acceptance, drafted))


def score(points: float, most: float) -> float:
    """Return points as a percentage of the highest possible number."""
    return 100 * points / most


def deployability(quality: float, responsiveness: float) -> float:
    """Return tool-eval-bench's combined score."""
    return 0.7 * quality + 0.3 * responsiveness


def half_up(value: float, digits: int = 0) -> float:
    """Round as printed tables do: 0.5 up. Python's own `round` takes the even neighbour."""
    factor = 10.0**digits
    return int(value * factor + (0.5 if value >= 0 else -0.5)) / factor
