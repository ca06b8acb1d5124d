"""What each mode measures: points, each a kind of request and a load, and the prompts of these requests.

A prompt has a chosen length and one of three kinds of content. It begins with a number that is used once, so that a
prefix cache cannot help. The kinds differ in how well a drafter predicts their continuation: code, structured data
(JSON), and filler (prose of random words).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, Literal, NamedTuple

MODES: Final = ("single", "scenarios", "sweep", "rate", "depth", "speculation", "stall", "tools", "startup")
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
                 "speculation": (512, 256), "stall": (16_384, 512)}  # fmt: skip
"""Mode → prompt and generated tokens; of stall, the prompt is the long one. single: the script of the Spark guide,
section 10; sweep and rate: its `vllm bench serve`; depth: llama-benchy's pp2048 and tg128."""
_SHORT: Final = 128
"""Tokens of the prompts that generate while a long one is read."""
_ENOUGH: Final = 0.9
_MARGIN: Final = 0.03
"""Share by which a prompt may be longer than requested: its length is computed from two other prompts."""
Kind = Literal["filler", "code", "structured"]
KINDS: Final[tuple[Kind, ...]] = ("code", "structured", "filler")
_WORDS: Final = """
the a memory model host time water line number light house river small large quick early open green
table paper street answer market winter music person reason window garden letter island summer
office bridge morning story engine signal copper valley season corner metal forest travel
""".split()  # noqa: SIM905  a list of 40 lines is no clearer
CALIBRATION: Final = (len(_WORDS), 2 * len(_WORDS))
"""Lengths of the two prompts that calibrate the tokens of a unit; each contains all words equally often."""
_TASKS: Final[dict[Kind, str]] = {
    "filler": "Continue this text in the same style:",
    "code": "Continue this Python module with more functions of the same form:",
    "structured": "Continue this list of JSON records, one per line:",
}


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
    long_tokens: int = 0
    """Prompt of one more request, which is read while the others generate; 0 if there is none."""


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
    name, usual, long = (f"stall by {prompt}", _SHORT, prompt) if mode == "stall" else (mode, prompt, 0)
    return (Point(name, usual, output, long_tokens=long),)


def burst(sizes: Sizes) -> Point:
    """Return the load from which the rates of mode `rate` are computed."""
    prompt, output = (given or default for given, default in zip(sizes, _SIZES["rate"], strict=True))
    return Point("full load", prompt, output, concurrency=BURST, requests=BURST)


def fitting(listed: Iterable[Point], max_model_len: int | None) -> tuple[tuple[Point, ...], tuple[str, ...]]:
    """Return the points that fit into the context of the server, and why others are left out."""
    fits, notes = list[Point](), list[str]()
    for point in listed:
        tokens = round(max(point.prompt_tokens, point.long_tokens) * (1 + _MARGIN)) + point.output_tokens
        if max_model_len is None or tokens <= max_model_len:
            fits.append(point)
        else:
            notes.append(f"{point.name} left out: {tokens} tokens, max_model_len is {max_model_len}")
    return tuple(fits), tuple(notes)


def knee(throughput: Sequence[tuple[int, float]]) -> int | None:
    """Return the lowest concurrency with at least 90 % of the highest throughput."""
    best = max((found for _, found in throughput), default=0.0)
    return next((level for level, found in sorted(throughput) if found >= _ENOUGH * best), None) if best else None


class Length(NamedTuple):
    """How many tokens a prompt of a kind has: `base` and `per_unit` for each unit of its content."""

    base: float
    per_unit: float

    def units(self, tokens: int) -> int:
        """Return how many units of text make a prompt of about this many tokens."""
        return max(1, round((tokens - self.base) / self.per_unit))


class Prompts:
    """A source of prompts."""

    def __init__(self, seed: str) -> None:
        """Use this seed: another seed gives other prompts."""
        self._random = random.Random(seed)  # noqa: S311  text, no secret

    def text(self, kind: Kind, units: int) -> str:
        """Return a new prompt with this many units: words, lines of code, or records."""
        made, joint = _FORMS[kind]
        content = joint.join(made(word, self._random) for word in islice(self._words(), units))
        return f"{self._random.getrandbits(40):010x} {_TASKS[kind]}\n{content}"

    def _words(self) -> Iterator[str]:
        """Yield all words in random order, again and again.

        Prompts of the same length then have nearly the same number of tokens, although words differ in theirs.
        """
        while True:
            yield from self._random.sample(_WORDS, len(_WORDS))


def length(tokens: tuple[int, int]) -> Length:
    """Return the length from the tokens of the two prompts of CALIBRATION."""
    few, many = CALIBRATION
    per_unit = max((tokens[1] - tokens[0]) / (many - few), 0.1)
    return Length(tokens[0] - few * per_unit, per_unit)


def _code(name: str, source: random.Random) -> str:
    value = source.randrange(100, 1000)
    return f"def {name}_{value}(value: int) -> int:\n    return value * {value} + {source.randrange(10)}\n"


def _structured(name: str, source: random.Random) -> str:
    number = source.randrange(1000, 10_000)
    return f'{{"id": {number}, "name": "{name}", "active": true, "size": {source.randrange(100)}}}'


_FORMS: Final[dict[Kind, tuple[Callable[[str, random.Random], str], str]]] = {
    "filler": (lambda word, _: word, " "),
    "code": (_code, "\n"),
    "structured": (_structured, "\n"),
}
