"""HTTP requests to a model server, without retries, and with the time at which each part of a response arrives.

A retry would hide an overloaded server, and a connection pool would hide its queue: each request has a connection of
its own. Proxies are not used, because a proxy may hold parts back. The clock starts when the request is sent.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from threading import Event
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from sparkiac.model import answers
from sparkiac.report.characters import escaped_line

_BLOCK: Final = 1 << 16
_MAX_BYTES: Final = 1 << 24
"""Longest response that is read as a whole. A page of metrics has 60 kB."""
_MAX_EVENT_BYTES: Final = 1 << 20
_MAX_STREAM_BYTES: Final = 1 << 26
"""64 MiB; an event of one token has 300 bytes."""
_SHOWN: Final = 200


class ServerError(Exception):
    """A request failed; the text gives the reason in one line."""


class StoppedError(Exception):
    """The caller ended the request, or its time is over."""


class ServerRequest(NamedTuple):
    """A GET request, or with `data` a POST request of JSON."""

    url: str
    key: str | None = None
    """API key."""
    data: dict[str, Any] | None = None
    timeout_s: float = 30
    """Longest wait for the next part of the response."""

    def __repr__(self) -> str:
        """Leave out the API key and the prompt."""
        return f"ServerRequest({self.url!r})"


class Arrival(NamedTuple):
    """One event of a stream."""

    seconds: float
    """Time since the request was sent."""
    data: str


def fetch(request: ServerRequest) -> str:
    """Return the body of a response. Raises ServerError, also for other status codes than 200."""
    try:
        with closing(_connection(request)) as connection:
            return _body(_sent(connection, request), request).decode(errors="replace")
    except (OSError, HTTPException) as error:
        raise _failed(request, error) from None


def stream(request: ServerRequest, stopped: Event, until_s: float) -> Iterator[Arrival]:
    """Yield the events of a stream until it ends.

    Raises ServerError, and StoppedError once `stopped` is set or the monotonic clock has reached `until_s`.
    """
    try:
        with closing(_connection(request)) as connection:
            # Connect before the clock starts: the handshake is no part of the time to the first token.
            connection.connect()
            began = time.perf_counter()
            response = _sent(connection, request)
            yield from _events(response, began, stopped, until_s)
    except (OSError, HTTPException) as error:
        raise _failed(request, error) from None


def _events(response: HTTPResponse, began: float, stopped: Event, until_s: float) -> Iterator[Arrival]:
    """Yield the data of each event. Events that arrive together have the same time."""
    rest, most = b"", _MAX_STREAM_BYTES
    # read1 returns what has arrived; read would wait for a whole block, and all its events would have one time.
    while block := response.read1(_BLOCK):
        seconds = time.perf_counter() - began
        if stopped.is_set() or time.monotonic() > until_s:
            raise StoppedError
        most -= len(block)
        if most < 0:
            raise ServerError(f"a stream of more than {_MAX_STREAM_BYTES} bytes")
        *lines, rest = (rest + block).split(b"\n")
        if len(rest) > _MAX_EVENT_BYTES:
            raise ServerError(f"an event of more than {_MAX_EVENT_BYTES} bytes")
        for line in lines:
            if line.startswith(b"data:"):
                yield Arrival(seconds, line[5:].strip().decode(errors="replace"))


def _connection(request: ServerRequest) -> HTTPConnection:
    parts = urlsplit(request.url)
    host, port = parts.hostname or "", parts.port
    if parts.scheme == "https":
        context = ssl.create_default_context()
        return HTTPSConnection(host, port, timeout=request.timeout_s, context=context)
    return HTTPConnection(host, port, timeout=request.timeout_s)


def _sent(connection: HTTPConnection, request: ServerRequest) -> HTTPResponse:
    """Send the request and return the response with its headers."""
    headers = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
    if request.key is not None:
        headers["Authorization"] = f"Bearer {request.key}"
    body = None if request.data is None else json.dumps(request.data).encode()
    parts = urlsplit(request.url)
    connection.request("GET" if body is None else "POST", parts.path or "/", body, headers)
    response = connection.getresponse()
    if response.status != HTTPStatus.OK:
        raise ServerError(f"HTTP {response.status}: {_reason(_body(response, request))}")
    return response


def _body(response: HTTPResponse, request: ServerRequest) -> bytes:
    """Read a whole body, in at most `timeout_s`."""
    # The timeout of a socket applies to each read: a server that sends one byte a minute would never exceed it.
    body, until = bytearray(), time.monotonic() + request.timeout_s
    while block := response.read1(_BLOCK):
        body += block
        if len(body) > _MAX_BYTES or time.monotonic() > until:
            raise ServerError(f"{request.url}: a response of more than {_MAX_BYTES} bytes or {request.timeout_s:g} s")
    return bytes(body)


def _reason(body: bytes) -> str:
    text = body.decode(errors="replace")
    try:
        data = answers.plain(text)
        text = str(data["error"]["message"] if isinstance(data["error"], dict) else data["error"])
    except (ValueError, KeyError, TypeError):
        pass
    return escaped_line(" ".join(text.split()))[:_SHOWN] or "no message"


def _failed(request: ServerRequest, error: Exception) -> ServerError:
    """Return the error with a reason that contains no part of the request but its host."""
    host = urlsplit(request.url).netloc.rpartition("@")[2]
    if isinstance(error, TimeoutError):
        return ServerError(f"{host}: no response within {request.timeout_s:g} s")
    if isinstance(error, HTTPException):
        return ServerError(f"{host}: the response ended early or is not HTTP")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return ServerError(f"{host}: {reason}")
