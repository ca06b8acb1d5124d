"""Send and receive the votes of the hosts of a group over HTTP: one request, one answer, no connection is kept."""

from __future__ import annotations

import hmac
import http.client
import json
import re
import threading
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote

from ..contract import parsed
from ..network.peers import PeerHandler, PeerServer

TIMEOUT_S = 5
GO, BACK, WAIT = "go", "back", "wait"
LIMIT_BYTES = 4096
"""Most bytes of a vote and of an answer. Both have about 100, and the names of some units."""
Vote = bool | list[str]
"""Whether a host can go on, or the units that restart on it."""
Answer = str | list[str]
"""A word, or the units that restart on all hosts."""


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


def ask(members: Members, name: str | None, *, vote: Vote) -> Answer | None:
    """Send a vote to the coordinator and return its answer; None if there is none."""
    body = {"host": members.host, "round": name, "vote": vote}
    connection = http.client.HTTPConnection(members.address, members.port, timeout=TIMEOUT_S)
    try:
        connection.request("POST", path_of(members), json.dumps(body), {"Authorization": f"Bearer {members.token}"})
        response = connection.getresponse()
        answer = parsed(response.read(LIMIT_BYTES))["answer"] if response.status == 200 else None  # noqa: PLR2004
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return answer if answer in (GO, BACK, WAIT) or isinstance(answer, list) else None


def path_of(members: Members) -> str:
    """Return the path for the votes of a run."""
    return f"/{quote(members.run, safe='')}"


def serve(members: Members, hear: Callable[[str, str | None, Vote], Answer]) -> PeerServer:
    """Listen on the coordinator's address; answer `back` to votes for other runs; refuse other tokens."""
    wanted = f"Bearer {members.token}".encode()

    class Handler(PeerHandler):
        timeout = TIMEOUT_S

        def do_POST(self) -> None:  # noqa: N802 - the name that http.server calls
            """Check the size and the token before the body is read."""
            size, known = self.headers.get("Content-Length") or "", self.path == path_of(members)
            if not re.fullmatch("[0-9]{1,9}", size) or not 0 < int(size) <= LIMIT_BYTES:
                return self.send_error(400)
            if known and not hmac.compare_digest((self.headers.get("Authorization") or "").encode(), wanted):
                return self.send_error(403)
            try:
                vote = parsed(self.rfile.read(int(size)))
                if known and vote["host"] not in members.others:
                    return self.send_error(403)
                answer = hear(vote["host"], vote["round"], vote["vote"]) if known else BACK
            except (ValueError, KeyError, TypeError):
                return self.send_error(400)
            data = json.dumps({"answer": answer}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            return None

        def log_message(self, *_words: object) -> None:
            """Write no line for a request: each poll of a member would be one in the journal."""

    server = PeerServer(members.address, members.port, Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
