"""What both servers of the model hub's stand-in share: recording, faults, ranges."""

from __future__ import annotations

import json
import re
import socket
import socketserver
import sys
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.standin.hub import Hub

RANGE = re.compile(r"bytes=(\d*)-(\d*)")


class Request(NamedTuple):
    """A request that came."""

    server: str
    """`hub`, or `cdn` for the content network."""
    method: str
    path: str
    """Path and query, as they came."""
    headers: dict[str, str]
    """Header's name in lower case → value."""


class Server(ThreadingHTTPServer):
    """One server; it knows its open connections, to close them."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, hub: Hub, name: str, handler: type[BaseHTTPRequestHandler]) -> None:
        """Listen at a free port."""
        self.hub, self.name = hub, name
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def server_bind(self) -> None:
        """Bind without HTTPServer's look-up of the address's name, which may wait for a resolver."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  as socketserver has it
        """Register the connection."""
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401  as socketserver has it
        """Forget the connection."""
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  as socketserver has it
        """Print nothing about clients that disconnected, and everything about own errors."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def end(self) -> None:
        """Stop listening, and close every connection."""
        self.shutdown()
        self.server_close()
        for connection in tuple(self._open):
            _close(connection)


def _close(connection: socket.socket) -> None:
    with suppress(OSError):  # the client was faster
        connection.shutdown(socket.SHUT_RDWR)


class Handler(BaseHTTPRequestHandler):
    """What both servers share: recording, faults, ranges."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        """Answer with a body."""
        self._handle()

    def do_HEAD(self) -> None:
        """Answer without one."""
        self._handle()

    def log_message(self, *_: object) -> None:
        """Print nothing: `requests` contains the requests."""

    def _handle(self) -> None:
        hub = self.server.hub
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.fault = hub.begin(Request(self.server.name, self.command, self.path, headers), sends=self._sends())
        if self.fault:
            hub.wait_for(self.fault.at_once)
        if self.fault and self.fault.silent_seconds:
            hub.ended.wait(self.fault.silent_seconds)
        if self.fault and self.fault.status:
            self._error(self.fault.status, "a fault that a test asked for", headers=dict(self.fault.headers))
        else:
            self._answer()

    def _answer(self) -> None:
        raise NotImplementedError

    def _sends(self) -> bool:
        """Whether the answer is no redirect."""
        return True

    def _query(self, *known: str) -> dict[str, list[str]] | None:
        """Return the query, or refuse it if it has a key that is not known."""
        query = parse_qs(urlsplit(self.path).query)
        if set(query) <= set(known):
            return query
        self._error(400, f"unknown query: {sorted(set(query) - set(known))}")
        return None

    def _json(self, value: object, *, headers: Mapping[str, str] | None = None, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self._send(status, body, {"Content-Type": "application/json; charset=utf-8", **(headers or {})})

    def _error(self, status: int, message: str, *, code: str = "", headers: Mapping[str, str] | None = None) -> None:
        told = {"X-Error-Message": message, **({"X-Error-Code": code} if code else {}), **(headers or {})}
        self._json({"error": message}, status=status, headers=told)

    def _file(self, content: bytes, headers: Mapping[str, str]) -> None:
        """Send a file, or the range of it that was asked for."""
        if self.fault and self.fault.body is not None:
            content = self.fault.body
        headers = {"Content-Type": "application/octet-stream", "Accept-Ranges": "bytes", **headers}
        wanted = RANGE.fullmatch(self.headers.get("Range", ""))
        if wanted is None or not any(wanted.groups()) or (self.fault and self.fault.no_ranges):
            self._send(200, content, headers)
            return
        start, end = _span(wanted[1], wanted[2], len(content))
        if start >= end:
            self._send(416, b"", {**headers, "Content-Range": f"bytes */{len(content)}"})
        elif self.headers.get("If-Range", headers["ETag"]) != headers["ETag"]:
            self._send(200, content, headers)
        else:
            told = {**headers, "Content-Range": f"bytes {start}-{end - 1}/{len(content)}"}
            self._send(206, content[start:end], told)

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.server.hub.end()  # before the client can know, or its next request would count beside this one
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        cut = self.fault.cut_after_bytes if self.fault else None
        self.wfile.write(body if cut is None else body[:cut])
        if cut is not None:
            self.close_connection = True


def _span(first: str, last: str, size: int) -> tuple[int, int]:
    """Return the first byte of a range and the one after its last."""
    if not first:
        return max(size - int(last), 0), size
    return int(first), min(int(last) + 1, size) if last else size
