"""Servers of a test that answer in a thread."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from socketserver import BaseServer

    Server = TypeVar("Server", bound=BaseServer)


@contextlib.contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Let a server answer until the end of the block, and close it."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    with server:
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
