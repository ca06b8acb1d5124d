"""A stand-in for the model hub: the documented routes of its API, on loopback, with repositories that a test makes.

It is no hub. It is here because the real one cannot be reached from tests, and because it can be told to fail. The real
client is `huggingface_hub`: tests/upstream/hub/test_standin.py downloads a whole snapshot from it. It checks what it is
given: an unknown route, query, method or token is refused as the hub refuses it, and its second server, which stands
for the content network that holds files in LFS, takes only addresses that the first one signed, and no credentials,
as object stores do. Ranges are those of RFC 9110. Sources: huggingface_hub 2.4, the hub's documentation of its API.

    tiny = Repository("acme/tiny", {"config.json": b"{}", "model.safetensors": content})
    with Hub(tiny) as hub:
        url = f"{hub.url}/acme/tiny/resolve/{tiny.head()}/model.safetensors"
        hub.fail(Fault("model.safetensors", cut_after_bytes=1000))
        ...
        assert hub.requests[0].headers["user-agent"] == "…"
"""

from __future__ import annotations

import secrets
import threading
import time
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import unquote, urlsplit

from tests.standin.hub_repository import Repository, blob_id, safetensors, sha256
from tests.standin.hub_routes import OfContent, OfHub
from tests.standin.hub_server import Request, Server

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Fault", "Hub", "Repository", "Request", "blob_id", "safetensors", "sha256"]


class Fault(NamedTuple):
    """What goes wrong with requests whose path ends so. Each of them uses up one time."""

    path: str
    """End of the path: a file's name, or `/revision/main`."""
    server: str | None = None
    """Only at this one, `hub` or `cdn`; else at that which sends the bytes."""
    status: int | None = None
    """Answer this instead."""
    headers: tuple[tuple[str, str], ...] = ()
    """With these, such as (("Retry-After", "1"),)."""
    cut_after_bytes: int | None = None
    """Promise everything, and close the connection after so many bytes of the body."""
    body: bytes | None = None
    """Serve these bytes in place of the file's or the answer's."""
    no_ranges: bool = False
    """Answer a Range with the whole file and 200."""
    silent_seconds: float = 0
    """Send no response for this many seconds, or until the stand-in ends."""
    at_once: int = 0
    """Send no response until this many requests run at once."""
    times: int = 1
    """How many requests it befalls."""


class Hub:
    """The stand-in as a context: both servers run inside it, and every connection is closed at its end."""

    def __init__(self, *repositories: Repository, tokens: Mapping[str, Iterable[str]] | None = None) -> None:
        """Take repositories, and token → the private and gated repositories that it may read."""
        self.repositories = {each.handle: each for each in repositories}
        self.tokens = {token: frozenset(handles) for token, handles in (tokens or {}).items()}
        self.requests: list[Request] = []
        self.most_at_once = 0
        """The most requests that were under way at one moment."""
        self.signature = secrets.token_hex(8)
        self.ended = threading.Event()
        self._faults: list[Fault] = []
        self._under_way = 0
        self._lock = threading.Lock()
        self._hub, self._cdn = Server(self, "hub", OfHub), Server(self, "cdn", OfContent)
        self.url, self.cdn_url = self._hub.url, self._cdn.url

    def __enter__(self) -> Self:
        """Start both servers."""
        for server in (self._hub, self._cdn):
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """End both, and what is still open."""
        self.ended.set()
        for server in (self._hub, self._cdn):
            server.end()

    def fail(self, *faults: Fault) -> None:
        """Let this fail from now on."""
        with self._lock:
            self._faults += faults

    def asked(self, *, server: str = "hub") -> list[str]:
        """Return the methods and paths that came to a server, without their queries."""
        return [f"{each.method} {each.path.partition('?')[0]}" for each in self.requests if each.server == server]

    # -- for its servers ----------------------------------------------------------------------

    def begin(self, request: Request, *, sends: bool) -> Fault | None:
        """Record a request, which sends bytes or a redirect, and give the fault that befalls it."""
        with self._lock:
            self.requests.append(request)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
            fault = next((each for each in self._faults if _befalls(each, request, sends=sends)), None)
            if fault is not None:
                at = self._faults.index(fault)
                self._faults[at : at + 1] = [fault._replace(times=fault.times - 1)] if fault.times > 1 else []
            return fault

    def wait_for(self, at_once: int) -> None:
        """Wait until so many requests were under way at one moment, at most ten minutes."""
        deadline = time.monotonic() + 600
        while self.most_at_once < at_once and time.monotonic() < deadline and not self.ended.wait(0.01):
            pass

    def end(self) -> None:
        """Count a request as answered."""
        with self._lock:
            self._under_way -= 1


def _befalls(fault: Fault, request: Request, *, sends: bool) -> bool:
    at = request.server == fault.server if fault.server else sends
    return at and unquote(urlsplit(request.path).path).endswith(fault.path)
