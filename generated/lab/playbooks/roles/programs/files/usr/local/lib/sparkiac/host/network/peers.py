"""Ports for other hosts of the fleet: open to their addresses only; HTTP with limits on connections and time."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ..local import LocalHost
from . import doors
from .nft import DoorsError

CONNECTIONS = 64
"""Most connections that may be open at the same time; the server closes any further one immediately."""
REQUEST_S = 10
"""Seconds from the start of a connection until its request is complete."""


def admit(machine: LocalHost, port: str, peers: list[str], *, required: bool) -> None:
    """Let only these addresses connect to a port; if nft does not work, raise DoorsError or say that it is open."""
    if not peers:
        return
    try:
        doors.admit(machine, f"_{port}", [port], peers)
    except DoorsError as error:
        fault = f"port {port} is open for every host that reaches this one: {error}"
        if required:
            raise DoorsError(f"{fault}; or set `nft: optional` for this host") from None
        sys.stderr.write(f"{fault}\n")


class PeerHandler(BaseHTTPRequestHandler):
    """Ends a connection whose request is not complete in time."""

    def setup(self) -> None:
        """Start the deadline; a handler cancels it when it knows the client."""
        super().setup()
        self.deadline = threading.Timer(REQUEST_S, self._end)
        self.deadline.daemon = True
        self.deadline.start()

    def _end(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def finish(self) -> None:
        """Cancel the deadline."""
        self.deadline.cancel()
        super().finish()


class PeerServer(ThreadingHTTPServer):
    """HTTP server at one IPv4 or IPv6 address."""

    daemon_threads = True
    request_queue_size = CONNECTIONS

    def __init__(self, address: str, port: int, handler: type[PeerHandler]) -> None:
        """Listen."""
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.slots = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__((address, port), handler)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - types of socketserver
        """Handle a connection in a thread of its own, or end it if too many are open."""
        if self.slots.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - types of socketserver
        """Handle a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - types of socketserver
        """Write no traceback for a connection that the client or the deadline has ended."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)
