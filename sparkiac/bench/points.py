"""What each mode measures: points, each a kind of request and a load."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from sparkiac.bench.prompts import KINDS, Kind

MODES: Final = ("single", "scenarios", "sweep", "rate", "depth", "speculation", "tools", "startup")
SCENARIOS: Final = (
    ("typical judge call", 58, 2),
    ("medium prompt, short answer", 1834, 32),
    ("long prompt, short answer", 7234, 32),
    ("medium prompt, long answer", 1834, 108),
    ("long prompt, long answer", 7234, 124),
)
"""The five scenarios of vLLM's blog post about DGX Spark: name, prompt tokens, generated tokens."""
CONCURRENCY: Final = (1, 2, 4, 8, 16, 32, 64, 128)
DEPTHS: Final = (0, 4096, 8192, 16_384, 32_768, 65_536, 131_072)
SHARES: Final = (0.25, 0.5, 0.75, 1.0)
"""Request rates, as shares of the rate that the server completes under full load."""
BURST: Final = 16
"""Requests of a round of mode `rate`, and of the load from which the rates are computed."""
_PER_SLOT: Final = 2
"""Requests of a round for each concurrent one."""
_SIZES: Final = {"single": (2000, 256), "sweep": (1024, 256), "rate": (1024, 256), "depth": (2048, 128),
                 "speculation": (512, 256)}  # fmt: skip
"""Mode → prompt and generated tokens. single: the script of the Spark guide, section 10; sweep and rate: its `vllm
bench serve`; depth: llama-benchy's pp2048 and tg128."""
_ENOUGH: Final = 0.9
_MARGIN: Final = 0.03
"""Share by which a prompt may be longer than requested: its length is computed from two other prompts."""


class Point(NamedTuple):
    """One kind of request under one load."""

    name: str
    prompt_tokens: int
    output_tokens: int
    kind: Kind = "filler"
    concurrency: int = 1
    """Concurrent requests; not limited with a rate."""
    rate: float | None = None
    """Requests per second, at random times (Poisson process)."""
    requests: int = 1
    """Requests of a round."""


class Sizes(NamedTuple):
    """Tokens of a request; None means the default of the mode."""

    prompt_tokens: int | None = None
    output_tokens: int | None = None


def points(mode: str, sizes: Sizes = Sizes(), levels: Sequence[float] = ()) -> tuple[Point, ...]:  # noqa: B008  constant
    """Return the points of a mode. `levels` are depths, concurrencies or rates; without them, the defaults are used."""
    if mode == "scenarios":
        return tuple(Point(name, prompt, output) for name, prompt, output in SCENARIOS)
    prompt, output = (given or default for given, default in zip(sizes, _SIZES[mode], strict=True))
    if mode == "depth":
        return tuple(Point(f"depth {depth:.0f}", prompt + int(depth), output) for depth in levels or DEPTHS)
    if mode == "speculation":
        return tuple(Point(kind, prompt, output, kind) for kind in KINDS)
    if mode == "sweep":
        return tuple(
            Point(f"concurrency {level}", prompt, output, concurrency=level, requests=max(4, _PER_SLOT * level))
            for level in map(int, levels or CONCURRENCY)
        )
    if mode == "rate":
        return tuple(
            Point(f"rate {level:g}", prompt, output, concurrency=BURST, rate=level, requests=BURST) for level in levels
        )
    return (Point(mode, prompt, output),)


def burst(sizes: Sizes) -> Point:
    """Return the load from which the rates of mode `rate` are computed."""
    prompt, output = (given or default for given, default in zip(sizes, _SIZES["rate"], strict=True))
    return Point("full load", prompt, output, concurrency=BURST, requests=BURST)


def fitting(listed: Iterable[Point], max_model_len: int | None) -> tuple[tuple[Point, ...], tuple[str, ...]]:
    """Return the points that fit into the context of the server, and why others are left out."""
    fits, notes = list[Point](), list[str]()
    for point in listed:
        tokens = round(point.prompt_tokens * (1 + _MARGIN)) + point.output_tokens
        if max_model_len is None or tokens <= max_model_len:
            fits.append(point)
        else:
            notes.append(f"{point.name} left out: {tokens} tokens, max_model_len is {max_model_len}")
    return tuple(fits), tuple(notes)


def knee(throughput: Sequence[tuple[int, float]]) -> int | None:
    """Return the lowest concurrency with at least 90 % of the highest throughput."""
    best = max((found for _, found in throughput), default=0.0)
    return next((level for level, found in sorted(throughput) if found >= _ENOUGH * best), None) if best else None
