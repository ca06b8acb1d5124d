"""Ask a model ten times a second and judge its answers: `python asks.py URL MODEL KEY [4|6]`.

It imports the standard library only, so that it also runs in a container. With 4 or 6, the name in the URL is resolved
before each request, to an address of this version of IP.
"""

from __future__ import annotations

import http.client
import json
import socket
import sys
import threading
import time
from urllib.parse import urlsplit

EVERY_S = 0.1
TIMEOUT_S = 2
QUESTION, ANSWER = "How much is 17 * 23?", "391"
RIGHT, WRONG, REFUSED, NONE = "right", "wrong", "refused", "none"
FAMILIES = {"": socket.AF_UNSPEC, "4": socket.AF_INET, "6": socket.AF_INET6}


def ask(url: str, model: str, key: str, version: str) -> str:
    """Send one request on a connection of its own; return what came of it."""
    parts = urlsplit(url)
    connection = None
    body = {"model": model, "max_tokens": 300, "messages": [{"role": "user", "content": QUESTION}]}
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    try:
        found = socket.getaddrinfo(parts.hostname, parts.port, FAMILIES[version], socket.SOCK_STREAM)
        connection = http.client.HTTPConnection(found[0][4][0], parts.port, timeout=TIMEOUT_S)
        connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
    except ConnectionRefusedError:
        return REFUSED
    except (OSError, http.client.HTTPException):
        return NONE
    finally:
        if connection:
            connection.close()
    return RIGHT if answer.status == http.client.OK and ANSWER in text else WRONG


def main(url: str, model: str, key: str, version: str = "") -> None:
    """Ask until killed; print when each request was sent and what came of it."""

    def one(at_s: float) -> None:
        outcome = ask(url, model, key, version)
        sys.stdout.write(f"{at_s:.3f} {outcome}\n")
        sys.stdout.flush()

    while True:
        at_s = time.monotonic()
        threading.Thread(target=one, args=(at_s,), daemon=True).start()
        time.sleep(max(0.0, at_s + EVERY_S - time.monotonic()))


if __name__ == "__main__":
    main(*sys.argv[1:])
