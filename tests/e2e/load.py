"""Steady load of a gateway: `python -m tests.e2e.load URL MODEL KEY TOKENS`.

Five short requests a second, each as a session of its own, every second one streamed; and three streams of TOKENS
tokens at any time. A line for each that has ended: when it was sent, short or long, how long it took, which deployment
answered, and what came of it.
"""

from __future__ import annotations

import http.client
import itertools
import json
import sys
import threading
import time
from urllib.parse import urlsplit

EVERY_S = 0.2
STREAMS = 3
TIMEOUT_S = 60
PROMPT = "canary-prompt-71c3: how much is 17 * 23?"
ANSWER = "391"
WHOLE = "whole"
Body = dict[str, object]


def ask(url: str, key: str, body: Body, session: str) -> tuple[str, str]:
    """Send one request; return which deployment answered, and what came of it."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=TIMEOUT_S)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "x-session-id": session}
    by = "nobody"
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        answer = connection.getresponse()
        by = answer.getheader("x-sparkiac-deployment") or by
        text = answer.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        return by, type(error).__name__
    finally:
        connection.close()
    if answer.status != http.client.OK:
        return by, f"status-{answer.status}"
    return by, WHOLE if ("[DONE]" if body.get("stream") else ANSWER) in text else "cut"


def main(url: str, model: str, key: str, tokens: str) -> None:
    """Load it until killed."""
    short: Body = {"model": model, "messages": [{"role": "user", "content": PROMPT}]}
    long: Body = {**short, "stream": True, "ignore_eos": True, "max_tokens": int(tokens)}
    numbers = itertools.count()

    def one(kind: str, body: Body) -> None:
        at_s = time.monotonic()
        by, outcome = ask(url, key, body, f"session-{kind}-{next(numbers)}")
        sys.stdout.write(f"{at_s:.3f} {kind} {time.monotonic() - at_s:.3f} {by} {outcome}\n")
        sys.stdout.flush()

    def again() -> None:
        while True:
            one("long", long)
            time.sleep(1)

    for _ in range(STREAMS):
        threading.Thread(target=again, daemon=True).start()
    for number in itertools.count():
        at_s = time.monotonic()
        body = {**short, "stream": True} if number % 2 else short
        threading.Thread(target=one, args=("short", body), daemon=True).start()
        time.sleep(max(0.0, at_s + EVERY_S - time.monotonic()))


if __name__ == "__main__":
    main(*sys.argv[1:])
