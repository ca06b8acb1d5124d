"""How far the times of `sparkiac bench` and `vllm bench serve` agree on the same server.

`python benchmarks/agreement.py URL PYTHON [PAIRS]` sends the same prompts with both clients, one request at a time, in
the order AB BA AB …, so that a machine whose speed changes affects both alike. PYTHON is the interpreter of an
environment with vLLM; `vllm_client.py` uses the client of its benchmark. The server must not use a prefix cache. A pair
is the medians of REQUESTS requests of each client.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from sparkiac.bench import client, formulas, points, runner, target
from sparkiac.bench.prompts import Prompts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sparkiac.bench.client import Endpoint

PROMPT_TOKENS, OUTPUT_TOKENS, REQUESTS = 1000, 128, 8
CLOSE = 0.02
"""Difference up to which two clients agree."""


class Times(NamedTuple):
    """Times of a request, or the medians of several."""

    ttft_ms: float
    decode: float
    """Tokens per second after the first one: 1000 / TPOT of vLLM."""


def main(url: str, python: str, pairs: int) -> None:
    """Measure and print."""
    endpoint = target.of_url(url, None, None).endpoint
    texts = prompts(endpoint)
    with subprocess.Popen(
        [python, Path(__file__).with_name("vllm_client.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def theirs(text: str) -> Times:
            asked = {"prompt": text, "api_url": f"{url}/v1/chat/completions", "prompt_len": PROMPT_TOKENS}
            print(
                json.dumps(asked | {"output_len": OUTPUT_TOKENS, "model": endpoint.model}),
                file=process.stdin,
                flush=True,
            )
            found = json.loads(process.stdout.readline())
            return times(found["ttft_s"], found["total_s"], found["tokens"], found["error"])

        def ours(text: str) -> Times:
            found = client.measure(endpoint, client.Chat(text, OUTPUT_TOKENS), Event())
            return times(found.ttft_s, found.total_s, found.output_tokens, found.error)

        for each in (ours, theirs):  # opens the connection, and warms up
            each(next(texts))
        measured = [pair(number, ours, theirs, texts) for number in range(pairs)]
        process.stdin.close()
    report(measured)


def prompts(endpoint: Endpoint) -> Iterator[str]:
    """Yield prompts of the wanted length."""
    source = Prompts(str(time.time_ns()))
    session = runner.Session(endpoint, source, None, Event(), time.monotonic() + 600, lambda _: None, {})
    [point] = points.points("single", points.Sizes(PROMPT_TOKENS, OUTPUT_TOKENS))
    runner.prepare(session, [point])
    units = session.lengths[point.kind].units(PROMPT_TOKENS)
    while True:
        yield source.text(point.kind, units)


def times(ttft_s: float, total_s: float, tokens: int, error: str | None) -> Times:
    """Return the times of a complete response."""
    decode = formulas.decode_speed(tokens, ttft_s, total_s)
    if error or tokens != OUTPUT_TOKENS or decode is None:
        sys.exit(f"{tokens} of {OUTPUT_TOKENS} tokens: {error}")
    return Times(1000 * ttft_s, decode)


def pair(
    number: int, ours: Callable[[str], Times], theirs: Callable[[str], Times], texts: Iterator[str]
) -> tuple[Times, Times]:
    """Measure some prompts with both clients, and return the medians."""
    found: dict[Callable[[str], Times], list[Times]] = {ours: [], theirs: []}
    for index in range(REQUESTS):
        text = next(texts)
        for each in (theirs, ours) if index % 2 else (ours, theirs):
            found[each].append(each(text))
    first, second = (Times(*map(statistics.median, zip(*listed, strict=True))) for listed in found.values())
    print(f"{number + 1:2}  sparkiac {_text(first)}   vllm {_text(second)}", flush=True)
    return first, second


def report(measured: list[tuple[Times, Times]]) -> None:
    """Print the differences."""
    for name in Times._fields:
        changes = [getattr(ours, name) / getattr(theirs, name) - 1 for ours, theirs in measured]
        close = sum(abs(each) <= CLOSE for each in changes)
        middle, least, most = statistics.median(changes), min(changes), max(changes)
        print(f"{name}: {middle:+.1%} ({least:+.1%} to {most:+.1%}); {close} of {len(changes)} within {CLOSE:.0%}")


def _text(found: Times) -> str:
    return f"{found.ttft_ms:.1f} ms, {found.decode:.2f} tokens/s"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(next(iter(sys.argv[3:]), "10")))
