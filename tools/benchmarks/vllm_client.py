"""Send requests with the client of `vllm bench serve`, one at a time: `agreement.py` starts this program.

It runs with the Python of a vLLM environment. Each line of its input is a request, and each line of its output has the
times as vLLM takes them. As in `vllm bench serve`, connections are kept open.
"""

from __future__ import annotations

import asyncio
import json
import sys

import aiohttp
from vllm.benchmarks.lib.endpoint_request_func import RequestFuncInput, async_request_openai_chat_completions


async def main() -> None:
    """Answer each line."""
    connector = aiohttp.TCPConnector(limit=1, keepalive_timeout=60, force_close=False)
    async with aiohttp.ClientSession(connector=connector, trust_env=True) as session:
        while line := await asyncio.to_thread(sys.stdin.readline):
            request = RequestFuncInput(**json.loads(line), ignore_eos=True, extra_body={"temperature": 0})
            found = await async_request_openai_chat_completions(request, session)
            times = {"ttft_s": found.ttft, "total_s": found.latency, "tokens": found.output_tokens}
            print(json.dumps(times | {"error": found.error}), flush=True)


asyncio.run(main())
