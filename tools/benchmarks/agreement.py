"""How far the times of `sparkiac bench` and `vllm bench serve` agree on the same server.

`python tools/benchmarks/agreement.py URL PYTHON [PAIRS]` sends the same prompts with both clients, one request at a
time, in the order AB BA AB … PYTHON is the interpreter of an environment with vLLM; `vllm_client.py` uses the client
of its benchmark. The server must not use a prefix cache. A pair is the medians of REQUESTS requests of each client.

The speed of a machine changes between two requests. Therefore each time is also divided by the one that vLLM itself has
for this request, from its metrics: a difference of these ratios is one of the clients.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from sparkiac.bench import client, points, runner, target
from sparkiac.bench.points import Prompts
from sparkiac.upstream import streaming

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sparkiac.bench.client import ApiEndpoint

    Client = Callable[[str], tuple[float, float]]

PROMPT_TOKENS, OUTPUT_TOKENS, REQUESTS = 1000, 128, 4
CLOSE = 0.02
"""Difference up to which two clients agree."""


class Times(NamedTuple):
    """Times of a request, or the medians of several."""

    ttft_ms: float
    tpot_ms: float
    """Time of each token after the first one."""
    ttft_of_server: float
    """TTFT as a multiple of the server's own."""
    tpot_of_server: float


def main(url: str, python: str, pairs: int) -> None:
    """Measure and print."""
    endpoint = target.of_url(url, None, None).endpoint
    texts = prompts(endpoint)
    with subprocess.Popen(
        [python, Path(__file__).with_name("vllm_client.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def theirs(text: str) -> tuple[float, float]:
            asked = {"prompt": text, "api_url": f"{url}/v1/chat/completions", "prompt_len": PROMPT_TOKENS}
            line = json.dumps(asked | {"output_len": OUTPUT_TOKENS, "model": endpoint.model})
            print(line, file=process.stdin, flush=True)
            found = json.loads(process.stdout.readline())
            return times(found["ttft_s"], found["total_s"], found["tokens"], found["error"])

        def ours(text: str) -> tuple[float, float]:
            found = client.measure(endpoint, client.Chat(text, OUTPUT_TOKENS), Event())
            return times(found.ttft_s, found.total_s, found.output_tokens, found.error)

        for each in (ours, theirs):  # opens the connection, and warms up
            each(next(texts))
        measured = [pair(number, url, (ours, theirs), texts) for number in range(pairs)]
        process.stdin.close()
    report(measured)


def prompts(endpoint: ApiEndpoint) -> Iterator[str]:
    """Yield prompts with the requested number of tokens."""
    source = Prompts(str(time.time_ns()))
    session = runner.BenchSession(endpoint, source, None, Event(), time.monotonic() + 600, lambda _: None, {})
    [point] = points.points("single", points.Sizes(PROMPT_TOKENS, OUTPUT_TOKENS))
    runner.prepare(session, [point])
    units = session.lengths[point.kind].units(PROMPT_TOKENS)
    while True:
        yield source.text(point.kind, units)


def times(ttft_s: float, total_s: float, tokens: int, error: str | None) -> tuple[float, float]:
    """Return TTFT and TPOT of a complete response."""
    decode = client.decode_speed(tokens, ttft_s, total_s)
    if error or tokens != OUTPUT_TOKENS or decode is None:
        sys.exit(f"{tokens} of {OUTPUT_TOKENS} tokens: {error}")
    return ttft_s, 1 / decode


def pair(number: int, url: str, clients: tuple[Client, Client], texts: Iterator[str]) -> tuple[Times, Times]:
    """Measure some prompts with both clients, and return the medians."""
    found: dict[Client, list[Times]] = {each: [] for each in clients}
    for index in range(REQUESTS):
        text = next(texts)
        for each in clients[::-1] if index % 2 else clients:
            before = server_times(url)
            ttft, tpot = each(text)
            ttft_there, tpot_there = (now - then for now, then in zip(server_times(url), before, strict=True))
            found[each].append(Times(1000 * ttft, 1000 * tpot, ttft / ttft_there, tpot / tpot_there))
    first, second = (Times(*map(statistics.median, zip(*listed, strict=True))) for listed in found.values())
    print(f"{number + 1:2}  sparkiac {_text(first)}   vllm {_text(second)}", flush=True)
    return first, second


def server_times(url: str) -> tuple[float, float]:
    """Return the sums of TTFT and TPOT of all requests so far, as the server counts them."""
    page = streaming.fetch(streaming.ServerRequest(f"{url}/metrics"))
    ttft, tpot = (
        re.search(rf"^vllm:{name}_seconds_sum{{[^}}]*}} (\S+)", page, re.MULTILINE)
        for name in ("time_to_first_token", "request_time_per_output_token")
    )
    return float(ttft[1]), float(tpot[1])


def report(measured: list[tuple[Times, Times]]) -> None:
    """Print the differences."""
    for name in Times._fields:
        changes = [getattr(ours, name) / getattr(theirs, name) - 1 for ours, theirs in measured]
        close = sum(abs(each) <= CLOSE for each in changes)
        middle, least, most = statistics.median(changes), min(changes), max(changes)
        print(f"{name}: {middle:+.1%} ({least:+.1%} to {most:+.1%}); {close} of {len(changes)} within {CLOSE:.0%}")


def _text(found: Times) -> str:
    return f"{found.ttft_ms:.1f} and {found.tpot_ms:.2f} ms ({found.ttft_of_server:.4f}, {found.tpot_of_server:.4f})"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(next(iter(sys.argv[3:]), "10")))
