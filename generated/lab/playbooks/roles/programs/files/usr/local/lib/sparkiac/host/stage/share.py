"""Serve model files and images of this host to the other hosts of the fleet during one play."""

from __future__ import annotations

import contextlib
import hmac
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

from ..local import notify
from ..network.peers import PeerHandler, PeerServer
from .layouts import layout_of
from .store import CHUNK_BYTES, HashCache, StagedModel, StageError

IDLE_S = 60
RANGE = re.compile(r"bytes=([0-9]{1,18})-")


class SharedContent(NamedTuple):
    """Models and images that are shared, and the token that clients must send."""

    models: list[StagedModel]
    images: frozenset[str]
    token: str

    def place(self, sha256: str) -> Path | None:
        """Return the path of a file with this hash that was verified and has not changed since."""
        for model in self.models:
            layout, wanted = layout_of(model), [file for file in model.files if file.sha256 == sha256]
            stamps = HashCache(layout.base, model.commit)
            for place in (place for file in wanted[:1] for place in layout.candidates(file)):
                with contextlib.suppress(OSError):
                    if stamps.knows(place.stat(), wanted[0]):
                        return place
        return None


class Handler(PeerHandler):
    """Handles GET /file/<sha256>, with an optional Range, and GET /image/<id>."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_S
    shelf: SharedContent

    def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
        """Send a file or an image to a client that has the token."""
        wanted = f"Bearer {self.shelf.token}".encode()
        if not hmac.compare_digest((self.headers.get("Authorization") or "").encode(), wanted):
            return self._refuse(401)
        self.deadline.cancel()
        kind, _, name = self.path.removeprefix("/").partition("/")
        if kind == "file" and (place := self.shelf.place(name)):
            return self._send_file(place)
        if kind == "image" and name in self.shelf.images:
            return self._send_image(name)
        return self._refuse(404)

    def _refuse(self, status: int) -> None:
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send_file(self, place: Path) -> None:
        with place.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            asked = RANGE.fullmatch(self.headers.get("Range") or "")
            start = int(asked[1]) if asked else 0
            if start >= size and asked:
                return self._refuse(416)
            self.send_response(206 if asked else 200)
            if asked:
                self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
            self.send_header("Content-Length", str(size - start))
            self.end_headers()
            self.connection.sendfile(file, start)
        return None

    def _send_image(self, name: str) -> None:
        """Send the output of `docker save` in chunks. A missing last chunk tells the client that it is incomplete."""
        saving = subprocess.Popen(["docker", "save", name], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)  # noqa: S603, S607
        assert saving.stdout  # noqa: S101 - a pipe was asked for
        try:
            first = saving.stdout.read(CHUNK_BYTES)
            if not first:
                return self._refuse(404)
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while first:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(first), first))
                first = saving.stdout.read(CHUNK_BYTES)
            self.close_connection = saving.wait() != 0
            if not self.close_connection:
                self.wfile.write(b"0\r\n\r\n")
        finally:
            saving.kill()
            saving.wait()
        return None

    def log_message(self, *words: object) -> None:
        """Log the request to stderr, which goes to the journal."""
        sys.stderr.write(f"{self.address_string()} {str(words[0]) % words[1:]}\n")


def share(shelf: SharedContent, listen: list[str]) -> None:
    """Serve until stopped; when ready, print the addresses and notify systemd."""
    servers = [listening(each, type("Bound", (Handler,), {"shelf": shelf})) for each in listen]
    for server in servers[1:]:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    for server in servers:
        sys.stdout.write("sharing at {}:{}\n".format(*server.server_address[:2]))
    sys.stdout.flush()
    notify("READY=1")
    servers[0].serve_forever()


def listening(place: str, handler: type[Handler]) -> PeerServer:
    """Return a server at address:port."""
    address, _, port = place.rpartition(":")
    try:
        return PeerServer(address.strip("[]"), int(port), handler)
    except (OSError, ValueError) as error:
        raise StageError(f"cannot share at {place}: {error}") from None
