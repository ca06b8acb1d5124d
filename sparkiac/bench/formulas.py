"""The formulas of benchmarks. Times are in seconds, speeds in tokens per second, shares from 0 to 1.

Benchmarks divide in different ways. `decode_speed` is the one of sparkiac, of `vllm bench serve` (1000 / TPOT) and of
the script of the Spark guide (section 10). The vLLM blog and tool-eval-bench count the first token as well: their speed
is higher, by 1/n for n tokens.
"""

from __future__ import annotations


def prefill_speed(prompt_tokens: int, ttft_s: float) -> float | None:
    """Return the prompt tokens per second until the first token."""
    return prompt_tokens / ttft_s if prompt_tokens and ttft_s > 0 else None


def decode_speed(output_tokens: int, ttft_s: float, total_s: float) -> float | None:
    """Return the tokens per second after the first one; None for a single token or a stream of one part."""
    return (output_tokens - 1) / (total_s - ttft_s) if output_tokens > 1 and total_s > ttft_s else None


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
