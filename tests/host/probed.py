"""A small server that behaves as a test says, for the probe."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Ask = Callable[..., tuple[int, str]]


def promise(unit: str, **values: object) -> dict[str, object]:
    """Make the promise of a deployment that serves the model `m`."""
    absent = dict.fromkeys(("url", "api_key", "max_model_len", "dimensions", "metrics", "store"))
    false = dict.fromkeys(("reasoning", "structured", "vision", "speculative"), False)
    found = {
        "unit": unit,
        "kind": "chat",
        "health": "/health",
        "models": ["m"],
        "clients": [],
        "answer_s": 120,
        "workers": 0,
    }
    return {**found, **absent, **false, **values}


class Handler(BaseHTTPRequestHandler):
    """Answers as its server's `answers` say: (status, body) for each path, or what a function makes of the request.

    A number is a time to hang.
    """

    server: Service

    def answer(self) -> None:
        """Answer any request."""
        self.server.asked.append(f"{self.command} {self.path}")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path not in {"/health", "/metrics"} and self.headers.get("Authorization") != self.server.authorization:
            self.send(401, {"error": "Unauthorized"})
            return
        answer = self.server.answers.get(self.path, (404, {"detail": "Not Found"}))
        if isinstance(answer, float):
            self.server.hang.wait(answer)
            return
        self.send(*(answer(json.loads(body or b"null")) if callable(answer) else answer))

    do_GET = do_POST = answer  # noqa: N815 - the names that http.server calls

    def send(self, status: int, body: object) -> None:
        """Send an answer."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


class Service(ThreadingHTTPServer):
    """A server that is healthy and serves `chat` and `fast`, until a test says otherwise."""

    daemon_threads = True

    def __init__(self) -> None:
        """Take a free port."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.asked: list[str] = []
        self.hang = threading.Event()
        self.authorization: str | None = None
        self.answers: dict[str, tuple[int, object] | float | Callable[[Any], tuple[int, object]]] = {
            "/health": (200, ""),
            "/v1/models": (200, {"data": [{"id": "chat"}, {"id": "fast"}]}),
            "/v1/chat/completions": (200, {"choices": [{"message": {"content": "371"}}]}),
        }

    def shutdown(self) -> None:
        """End, also the requests that hang."""
        self.hang.set()
        super().shutdown()
