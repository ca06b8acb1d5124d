"""Prefix hits of two real vLLM servers behind the gateway, with its affinity and with round robin.

    python tests/real/tiny_model.py MODEL --untrained            # in vLLM's own environment
    python tools/benchmarks/affinity.py VLLM MODEL [BLOCKS]

VLLM is the program `vllm` of a release for CPUs. It starts two servers whose prefix caches have BLOCKS blocks of 32
tokens each, and sends the turns of sessions through the installed HAProxy with a planned configuration: each turn
repeats the text of the turns before it, four requests at a time, the sessions of each turn in another order.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.gateway import standins
from tests.gateway.standins import KEYS, Gateway, bearer, free_port, until

SESSIONS, TURNS, AT_ONCE, WORDS = 12, 6, 4, 30
STARTS_MIN = 30
AFFINITY = """\
  balance hash var(txn.session)
  hash-type consistent sdbm avalanche
  # A server that has this percentage of the mean load gets no more: the next one does.
  hash-balance-factor 150
"""
UP = 'haproxy_backend_active_servers{proxy="route:both"}'
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "VLLM_API_KEY": KEYS["team_key"],
}


class Cache(NamedTuple):
    """What the prefix caches of both servers have counted."""

    queries: float
    hits: float


@contextlib.contextmanager
def server(vllm: str, model: str, blocks: int, log: Path) -> Iterator[int]:
    """Run a server, and yield its port when it is ready."""
    port = free_port()
    argv = [vllm, "serve", model, "--served-model-name", "both", "--port", str(port), "--host", "127.0.0.1"]
    argv += ["--enforce-eager", "--max-model-len", "2048", "--max-num-seqs", str(AT_ONCE)]
    argv += ["--num-gpu-blocks-override", str(blocks), "--block-size", "32", "--dtype", "bfloat16"]
    with log.open("wb") as written:
        process = subprocess.Popen(argv, stdout=written, stderr=written, env={**os.environ, **ENVIRONMENT})
        try:
            yield port
        finally:
            process.terminate()
            process.wait(standins.WAIT_S)


def read(port: int, path: str) -> str:
    """Return a page of a server."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=standins.WAIT_S) as found:
        text: str = found.read().decode()
    return text


def wait(port: int) -> None:
    """Wait until a server is ready, which takes minutes on a machine that is busy."""
    for _ in range(STARTS_MIN):
        with contextlib.suppress(AssertionError):
            until(lambda: read(port, "/health") == "")
            return


def counted(ports: list[int]) -> Cache:
    """Return the sums of the counters of the servers."""
    lines = [line for port in ports for line in read(port, "/metrics").splitlines()]
    names = ("vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total")
    return Cache(*(sum(float(each.split()[-1]) for each in lines if each.startswith(name)) for name in names))


def talk(gateway: Gateway, seed: str) -> None:
    """Send the turns of all sessions."""
    chance = random.Random(seed)  # noqa: S311
    said: dict[int, list[dict[str, str]]] = {number: [] for number in range(SESSIONS)}

    def ask(number: int) -> None:
        body = json.dumps({"model": "both", "messages": said[number], "max_tokens": 4}).encode()
        headers = bearer() | {"x-session-id": f"{seed} {number}"}
        found = gateway.ask("POST", "/v1/chat/completions", body, headers)
        if found.status != HTTPStatus.OK:
            raise SystemExit(found)

    for _ in range(TURNS):
        for turns in said.values():
            text = " ".join(str(chance.randrange(1000, 10000)) for _ in range(WORDS))
            turns.append({"role": "user", "content": text})
        order = chance.sample(range(SESSIONS), SESSIONS)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(ask, order))


def main(vllm: str, model: str, blocks: int = 200) -> None:
    """Print one line for each way of choosing a server."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        root = Path(name)
        ports = [stack.enter_context(server(vllm, model, blocks, root / f"{each}.log")) for each in ("one", "two")]
        for port in ports:
            wait(port)
        for way in ("affinity", "roundrobin"):
            place = root / way
            place.mkdir()
            gateway = Gateway(place, {"one": ports[0], "two": ports[1], "spare": free_port()})
            text = gateway.file.read_text()
            if AFFINITY not in text:
                raise SystemExit(f"the configuration has no longer:\n{AFFINITY}")
            if way == "roundrobin":
                gateway.file.write_text(text.replace(AFFINITY, "  balance roundrobin\n"))
            before = counted(ports)
            with gateway.running():
                until(lambda gateway=gateway: gateway.measured(UP) == [2])
                talk(gateway, way)
            after = counted(ports)
            queries, hits = after.queries - before.queries, after.hits - before.hits
            print(
                f"{way}: {hits:.0f} of {queries:.0f} tokens of prompts were in the cache, {100 * hits / queries:.0f} %"
            )


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:]))
