"""Ask a model ten times a second and judge its answers: `python -m tests.e2e.served URL MODEL KEY…`, from anywhere."""

from __future__ import annotations

import collections
import http.client
import json
import sys
import threading
import time
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from tests.e2e.lab import KEY
from tests.e2e.polls import PrintingModule

if TYPE_CHECKING:
    from tests.e2e.bed import Bed

EVERY_S = 0.1
TIMEOUT_S = 2
QUESTION, ANSWER = "How much is 17 * 23?", "391"
RIGHT, WRONG, REFUSED, NONE = "right", "wrong", "refused", "none"


class Asked(NamedTuple):
    """A request: when it was sent, by the clock of this machine, and what came of it."""

    at_s: float
    outcome: str


class Client(PrintingModule):
    """A client of one server for as long as the context lasts, in the network namespace of the control station."""

    def __init__(self, bed: Bed, url: str, model: str) -> None:
        """Ask nothing yet."""
        super().__init__(bed, "tests.e2e.served", url, model, KEY)
        self.asked: list[Asked] = []

    def take(self, at_s: str, outcome: str) -> None:
        """Keep a request."""
        self.asked.append(Asked(float(at_s), outcome))

    def since(self, at_s: float) -> list[str]:
        """Return what came of the requests since a time."""
        return [each.outcome for each in self.asked if each.at_s >= at_s]

    def last(self, count: int = 5) -> set[str]:
        """Return what came of the last requests."""
        return {each.outcome for each in self.asked[-count:]}

    def told(self, begin_s: float, end_s: float) -> str:
        """Return how many requests of a time had which outcome, as a row of a table."""
        counts = collections.Counter(each.outcome for each in self.asked if begin_s <= each.at_s < end_s)
        return " | ".join(f"{counts[each]:5}" for each in (RIGHT, WRONG, REFUSED, NONE))


def ask(url: str, model: str, key: str) -> str:
    """Send one request on a connection of its own; return what came of it."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT_S)
    body = {"model": model, "max_tokens": 300, "messages": [{"role": "user", "content": QUESTION}]}
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
    except ConnectionRefusedError:
        return REFUSED
    except (OSError, http.client.HTTPException):
        return NONE
    finally:
        connection.close()
    return RIGHT if answer.status == http.client.OK and ANSWER in text else WRONG


def main(url: str, model: str, key: str) -> None:
    """Ask until killed; print when each request was sent and what came of it."""

    def one(at_s: float) -> None:
        outcome = ask(url, model, key)
        sys.stdout.write(f"{at_s:.3f} {outcome}\n")
        sys.stdout.flush()

    while True:
        at_s = time.monotonic()
        threading.Thread(target=one, args=(at_s,), daemon=True).start()
        time.sleep(max(0.0, at_s + EVERY_S - time.monotonic()))


if __name__ == "__main__":
    main(*sys.argv[1:])
