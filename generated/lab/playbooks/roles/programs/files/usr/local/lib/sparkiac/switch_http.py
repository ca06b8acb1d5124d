"""Send and receive the votes of the hosts of a group over HTTP: one request, one answer, no connection is kept."""

from __future__ import annotations

import hmac
import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

TIMEOUT_S = 5
GO, BACK, WAIT = "go", "back", "wait"
LIMIT_BYTES = 65_536


class Members(NamedTuple):
    """A group and the secret of this run."""

    host: str
    names: list[str]
    coordinator: str
    address: str
    port: int
    run: str
    token: str

    @property
    def others(self) -> list[str]:
        """Members except the coordinator."""
        return [name for name in self.names if name != self.coordinator]


def ask(members: Members, name: str | None, *, vote: bool) -> str | None:
    """Send a vote to the coordinator and return its answer; None if there is none."""
    body = {"run": members.run, "token": members.token, "host": members.host, "round": name, "vote": vote}
    connection = http.client.HTTPConnection(members.address, members.port, timeout=TIMEOUT_S)
    try:
        connection.request("POST", "/", json.dumps(body))
        response = connection.getresponse()
        answer = json.loads(response.read(LIMIT_BYTES))["answer"] if response.status == 200 else None  # noqa: PLR2004
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return answer if answer in (GO, BACK, WAIT) else None


def serve(members: Members, hear: Callable[[str, str | None, bool], str]) -> ThreadingHTTPServer:
    """Listen on the coordinator's address; answer `back` to votes for other runs; refuse other tokens."""

    class Handler(BaseHTTPRequestHandler):
        timeout = TIMEOUT_S

        def do_POST(self) -> None:
            size = min(int(self.headers.get("Content-Length") or 0), LIMIT_BYTES)
            try:
                vote = json.loads(self.rfile.read(size))
                self._answer(vote)
            except (ValueError, KeyError, TypeError):
                self.send_error(400)

        def _answer(self, vote: dict[str, Any]) -> None:
            known = vote["run"] == members.run
            if known and not hmac.compare_digest(str(vote["token"]), members.token):
                self.send_error(403)
                return
            if known and vote["host"] not in members.others:
                self.send_error(403)
                return
            answer = hear(vote["host"], vote["round"], vote["vote"] is True) if known else BACK
            data = json.dumps({"answer": answer}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_words: object) -> None:
            """Write no line for a request: each poll of a member would be one in the journal."""

    ThreadingHTTPServer.allow_reuse_address = True
    ThreadingHTTPServer.daemon_threads = True
    server = ThreadingHTTPServer((members.address, members.port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
