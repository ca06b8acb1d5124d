"""One answer over HTTP. The server decides neither where the request goes, nor how long it takes."""

from __future__ import annotations

import time
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Final, TypeVar

from sparkiac.upstream import redirects
from sparkiac.upstream.hub.patience import Unanswered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import httpx2

T = TypeVar("T")

MOST_REDIRECTS: Final = 5
SLOWEST_BYTES_PER_SECOND: Final = 16_384
"""On average, after the seconds that an answer may take however short it is."""
_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_LOGIN: Final = frozenset({"authorization", "cookie"})


@contextmanager
def answer(
    client: httpx2.Client, url: str, headers: Mapping[str, str], *, seconds: float, silence_seconds: float
) -> Iterator[httpx2.Response]:
    """Ask for `url`, and give the answer after redirects; its body is for `body`.

    The head of an answer may take `seconds`, and the server may keep still for `silence_seconds`. A login goes to the
    host of `url` alone. Raises `Unanswered` and the client's own errors.
    """
    at, sent = url, {"Accept-Encoding": "identity", **headers}
    for _ in range(MOST_REDIRECTS + 1):
        request = client.build_request("GET", at, headers=sent, timeout=silence_seconds)
        response = within(seconds, partial(client.send, request, stream=True, follow_redirects=False))
        try:
            if response.status_code not in _MOVED:
                yield response
                return
        finally:
            response.close()
        at = redirects.target(at, response.headers.get("Location", ""), first=url)
        if redirects.origin(at) != redirects.origin(url):
            sent = {name: value for name, value in sent.items() if name.lower() not in _LOGIN}
    message = f"it redirects more than {MOST_REDIRECTS} times"
    raise Unanswered(message, hint="look at the address by hand", lasting=True)


def body(response: httpx2.Response, *, seconds: float) -> Iterator[bytes]:
    """Give the body in pieces. Raises `Unanswered` if it comes too slowly or compressed."""
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        message = "it compresses its answer, though it was asked not to"
        raise Unanswered(message, hint="ask the server's owner", lasting=True)
    begun, read_bytes = time.monotonic(), 0
    for chunk in response.iter_raw():  # as it comes: a chunk of a size would wait for a drip to fill it
        yield chunk
        read_bytes += len(chunk)
        if time.monotonic() > begun + seconds + read_bytes / SLOWEST_BYTES_PER_SECOND:
            message = f"it sent {read_bytes} bytes in {time.monotonic() - begun:.0f} s, which is too slow"
            raise Unanswered(message, lasting=True)


def within(seconds: float, act: Callable[[], T]) -> T:
    """Give what `act` gives; it runs in a thread that nobody waits for longer.

    Raises `Unanswered`, and what `act` raises.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(act())
        except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    try:
        return future.result(seconds)
    except TimeoutError:
        message = f"no answer within {seconds:g} s"
        raise Unanswered(message, lasting=True) from None
