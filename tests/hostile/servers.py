"""Stand-ins for servers that were taken over: they may send any bytes, for ever, or none at all."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.upstream.registry.servers import Authority

    Answer = Callable[[str, bytes], Iterable[bytes]]


@contextmanager
def serve(answer: Answer, tls: Authority | None = None) -> Iterator[str]:
    """Answer each request (path, body) with these blocks, and give the URL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if tls:
        context.load_cert_chain(tls.certificate, tls.private)

    def talk(plain: socket.socket) -> None:
        with suppress(OSError), plain, context.wrap_socket(plain, server_side=True) if tls else plain as connection:
            connection.settimeout(60)
            head, _, body = _received(connection)
            words = head.split()
            blocks = answer(words[1].decode(), body) if words[:1] in ([b"GET"], [b"POST"]) else reply(b"", 400)
            for block in blocks:
                connection.sendall(block)

    def listen() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        threading.Thread(target=listen, daemon=True).start()
        yield f"http{'s' if tls else ''}://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def _received(connection: socket.socket) -> tuple[bytes, bytes, bytes]:
    """Return head and body of a request; what does not look like one ends with its first block."""
    raw = connection.recv(65_536)
    while raw[:1] in (b"G", b"P") and b"\r\n\r\n" not in raw:
        raw += connection.recv(65_536)
    head, between, body = raw.partition(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        while line.startswith(b"content-length:") and len(body) < int(line.partition(b":")[2]):
            body += connection.recv(65_536)
        if line == b"transfer-encoding: chunked":
            while not body.endswith(b"0\r\n\r\n"):
                body += connection.recv(65_536)
    return head, between, body


def reply(body: bytes, status: int = 200, kind: str = "application/json", **headers: object) -> list[bytes]:
    """Return a response; `headers` replace those that it needs, and None leaves one out."""
    named = {"Content-Type": kind, "Content-Length": len(body), "Connection": "close"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{name}: {value}" for name, value in named.items() if value is not None]
    return ["\r\n".join((f"HTTP/1.1 {status} Said", *lines, "", "")).encode(), body]


def as_json(value: Any, **headers: object) -> list[bytes]:  # noqa: ANN401  any JSON
    """Return a response of JSON."""
    return reply(json.dumps(value).encode(), **headers)  # type: ignore[arg-type]


def endless(block: bytes, begin: bytes = b"", status: int = 200, **headers: object) -> Iterator[bytes]:
    """Begin a response that does not end."""
    yield reply(b"", status, Content_Length=None, **headers)[0] + begin  # type: ignore[arg-type]
    while True:
        yield block


def drip(begin: bytes = b"") -> Iterator[bytes]:
    """Send a byte ten times a second."""
    yield begin or reply(b"", Content_Length=None)[0]
    while True:
        time.sleep(0.1)
        yield b"x"
