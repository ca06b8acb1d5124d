"""Latency that the gateway adds, and its memory: 64 streams with bodies of 4 MiB, and 1,000 with bodies of 4 KiB.

`python tools/benchmarks/gateway.py` runs the installed HAProxy with a planned configuration in front of a stand-in for
a model server, which waits a second, as a model that reads a prompt, and then sends five events. Each load is sent
directly and through the gateway, all of it at once. It prints the time to the first byte, and the largest resident
memory beside that of the plan. Client and stand-in share the machine with HAProxy, so the difference is an upper limit.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.gateway.standins import FLEET, KEYS, Gateway
from tests.plan.fleets import containers

LOADS = ((64, 4 << 20), (1000, 4 << 10), (64, 4 << 20))
LIMIT = 16 << 20
TEXT = FLEET.replace("both: {to: [one, two]}", "both: {to: [one], limits: {concurrent: 2000, waiting: 1000}}")
HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


class Times(NamedTuple):
    """What the requests of one load found."""

    statuses: dict[int, int]
    first_byte_s: list[float]

    def at(self, share: float) -> float:
        """Return a percentile in milliseconds."""
        return 1000 * sorted(self.first_byte_s)[int(share * (len(self.first_byte_s) - 1))]


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.partition("content-length:")[2].partition("\r")[0] or 0)
            await reader.readexactly(length)
            if head.startswith("get"):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                continue
            await asyncio.sleep(1)
            writer.write(HEAD.encode())
            for _ in range(5):
                writer.write(b'e\r\ndata: {"a":1}\n\r\n')
                await asyncio.sleep(0.05)
            writer.write(b"0\r\n\r\n")
    except (asyncio.IncompleteReadError, OSError):
        writer.close()


async def ask(port: int, body: bytes) -> tuple[int, float]:
    """Send one request; return its status and the time to the first byte."""
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=LIMIT)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEYS['gate_key']}\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    status = int((await reader.readline()).split()[1])
    first = time.perf_counter() - began
    if status == HTTPStatus.OK:
        await reader.readuntil(b"0\r\n\r\n")
    writer.close()
    return status, first


def resident_mib(master: int) -> float:
    """Return the resident memory of HAProxy's processes."""
    children = Path(f"/proc/{master}/task/{master}/children").read_text().split()
    pages = [int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in (master, *children)]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


async def load(port: int, count: int, size: int) -> Times:
    """Send requests at the same time."""
    text = "some words\n" * (size // 11)
    body = json.dumps({"messages": [{"role": "user", "content": text}], "stream": True, "model": "both"}).encode()
    found = await asyncio.gather(*(ask(port, body) for _ in range(count)))
    return Times(dict(Counter(status for status, _ in found)), [first for _, first in found])


async def measure(gateway: Gateway, direct: int) -> None:
    """Send every load directly and through the gateway."""
    largest = 0.0

    async def watch() -> None:
        nonlocal largest
        while True:
            largest = max(largest, resident_mib(gateway.process.pid))
            await asyncio.sleep(0.02)

    watching = asyncio.create_task(watch())
    for count, size in LOADS:
        for name, port in (("direct", direct), ("gateway", gateway.port)):
            found = await load(port, count, size)
            times = f"first byte p50 {found.at(0.5):.0f} ms, p99 {found.at(0.99):.0f} ms"
            print(f"{count} x {size >> 10} KiB {name}: {found.statuses}, {times}", flush=True)
    watching.cancel()
    planned = (containers(TEXT)["spark-02/gateway"].memory_bytes or 0) / (1 << 20)
    print(f"resident memory: at most {largest:.0f} MiB; the plan counts {planned:.0f} MiB")


async def main() -> None:
    """Start the stand-in and the gateway, and measure."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=LIMIT, backlog=2048)
    port: int = server.sockets[0].getsockname()[1]
    os.environ["MALLOC_MMAP_THRESHOLD_"] = "131072"  # what the allocator of the planned image does by itself
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(Path(folder), dict.fromkeys(("one", "two", "spare"), port), TEXT)
        running = gateway.running()
        await asyncio.to_thread(running.__enter__)
        try:
            await measure(gateway, port)
        finally:
            await asyncio.to_thread(running.__exit__, None, None, None)


if __name__ == "__main__":
    asyncio.run(main())
