"""What a hostile or broken source can do to `stage`: nothing for long, and nothing of it stays."""

from __future__ import annotations

import hashlib
import re
import socket
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host.stage import http as stage_http
from sparkiac.host.stage import redirects as stage_redirects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import ModuleType

SIZE = 1 << 16
RIGHT = bytes(SIZE)
pause = threading.Event().wait
"""Wait, also in a test that has replaced time.sleep."""
NAMES = {
    "public.example": "203.0.112.7",
    "cdn.example": "198.50.100.9",
    "mirror.lan": "192.168.1.5",
    "files.lan": "10.0.0.9",
    "inward.example": "127.0.0.1",
    "metadata.example": "169.254.169.254",
    "both.example": "10.0.0.9",
    "mapped.example": "::ffff:127.0.0.1",
    "public6.example": "2600::7",
    "localhost": "127.0.0.1",
}


@pytest.fixture
def http() -> ModuleType:
    """Return the module that downloads."""
    return stage_http


@pytest.fixture
def waits(http: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Note the waits between requests in place of waiting."""
    made: list[float] = []
    monkeypatch.setattr(http.time, "sleep", made.append)
    return made


class Source(BaseHTTPRequestHandler):
    """A server whose answers are those of a function."""

    requests: list[int]
    send: Callable[[Source, int], None]

    def do_GET(self) -> None:
        """Answer from the first byte that is asked for."""
        found = re.match(r"bytes=(\d+)-", self.headers.get("Range") or "")
        start = int(found[1]) if found else 0
        self.requests.append(start)
        self.send(start)

    def begin(self, start: int) -> None:
        """Send the headers of the rest."""
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{SIZE - 1}/{SIZE}")
        self.send_header("Content-Length", str(SIZE - start))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def source(send: Callable[[Any, int], None]) -> Iterator[tuple[str, list[int]]]:
    """Run a server; give its URL and where each request began."""
    handler = type("Bound", (Source,), {"send": send, "requests": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads, server.block_on_close = True, False
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/x", handler.requests
        server.shutdown()


def download(http: ModuleType, url: str, place: Path, **options: Any) -> str:  # noqa: ANN401
    """Download the file; return the error, or an empty text."""
    file = http.ModelFile("x", SIZE, hashlib.sha256(RIGHT).hexdigest())
    part = http.PartialFile(place, file)
    try:
        http.download(http.Address(url, "", options.get("waits_s", (1, 2)), direct=True), part, lambda: True)
    except http.SourceRefusedError as error:
        return str(error)
    finally:
        part.close()
    return ""


@pytest.mark.usefixtures("waits")
def test_half_a_file_and_then_wrong_bytes_is_tried_once_more(http: ModuleType, tmp_path: Path) -> None:
    """It was asked for until Python's stack was full: 1,952 requests in 4 seconds."""

    def send(server: Source, start: int) -> None:
        server.begin(start)
        server.wfile.write(b"x" * (SIZE - start) if start else RIGHT[: SIZE // 2])

    with source(send) as (url, requests):
        error = download(http, url, tmp_path / "x")
    assert requests == [0, SIZE // 2] * 2
    assert error.endswith("; the file was discarded")
    assert (tmp_path / "x").read_bytes() == b""


@pytest.mark.usefixtures("waits")
def test_half_a_wrong_file_of_an_earlier_run_costs_one_more_request(http: ModuleType, tmp_path: Path) -> None:
    def send(server: Source, start: int) -> None:
        server.begin(start)
        server.wfile.write(RIGHT[start:])

    (tmp_path / "x").write_bytes(b"x" * 100)
    with source(send) as (url, requests):
        assert download(http, url, tmp_path / "x") == ""
    assert requests == [100, 0]
    assert (tmp_path / "x").read_bytes() == RIGHT


def test_a_byte_for_each_request_ends_after_a_number_of_tries(
    http: ModuleType, waits: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(server: Source, start: int) -> None:
        server.begin(start)
        server.wfile.write(RIGHT[start : start + 1])

    assert http.TRIES == 200
    monkeypatch.setattr(http, "TRIES", 20)
    with source(send) as (url, requests):
        error = download(http, url, tmp_path / "x")
    assert requests == list(range(20))
    assert error.endswith(f"interrupted after 20 of {SIZE} bytes, 20 times; 20 of {SIZE} bytes are here")
    assert set(waits) == {0}
    assert (tmp_path / "x").read_bytes() == RIGHT[:20]


def drip(server: Source, text: bytes) -> None:
    """Send a text for ever, a byte at a time, until the client has gone."""
    try:
        while True:
            server.connection.sendall(text)
            pause(0.02)
    except OSError:
        return


def drip_of_headers(server: Source, _: int) -> None:
    """Begin no response."""
    server.connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    drip(server, b"x")


def drip_of_body(server: Source, start: int) -> None:
    """Send a part of the file slowly."""
    server.begin(start)
    drip(server, b"\0")


def drip_of_chunks(server: Source, _: int) -> None:
    """Begin a chunk whose length never ends."""
    server.connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    drip(server, b"0")


def silence(server: Source, start: int) -> None:
    """Send nothing after the headers."""
    server.begin(start)
    server.connection.recv(1)


@pytest.mark.parametrize("send", [drip_of_headers, drip_of_body, drip_of_chunks, silence])
def test_a_source_that_sends_too_slowly_is_given_up(
    http: ModuleType,
    waits: list[float],
    tmp_path: Path,
    send: Callable[[Source, int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each byte arrives long before the timeout of the connection."""
    monkeypatch.setattr(http, "SLOW_S", 0.3)
    monkeypatch.setattr(http, "BEGIN_S", 0.3)
    threads = threading.active_count()
    with source(send) as (url, requests):
        error = download(http, url, tmp_path / "x")
    assert f"TimeoutError: too slow: nothing, or less than {http.CHUNK_BYTES} bytes, in 0.3 s, 3 times" in error
    assert (requests, waits) == ([0, 0, 0], [1, 2])
    if send is not drip_of_headers:  # before a response begins, there is no socket to shut down
        end = time.monotonic() + 600
        while threading.active_count() > threads and time.monotonic() < end:
            pause(0.02)
        assert threading.active_count() <= threads


@pytest.mark.usefixtures("waits")
def test_a_file_has_an_hour_and_a_minute_for_each_mebibyte(
    http: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    def send(server: Source, start: int) -> None:
        now[0] += 1000
        server.begin(start)
        server.wfile.write(RIGHT[start : start + 1])

    assert (http.LONGEST_S, http.SLOW_S, http.CHUNK_BYTES) == (3600, 60, 1 << 20)
    monkeypatch.setattr(http.time, "monotonic", lambda: now[0])
    for longest, count in ((3600, 4), (36_000, 37)):
        monkeypatch.setattr(http, "LONGEST_S", longest)
        now[0] = 0
        with source(send) as (url, requests):
            assert f"{count} times" in download(http, url, tmp_path / f"{longest}")
        assert len(requests) == count


@pytest.fixture
def problem(http: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return the function that judges redirects, with names that no server looks up."""
    assert http
    redirects = stage_redirects
    real = socket.getaddrinfo

    def lookup(host: str, port: None) -> Any:  # noqa: ANN401
        if host.endswith((".example", ".lan")) and host not in NAMES:
            raise socket.gaierror(-2, "Name or service not known")
        found = real(NAMES.get(host, host), port, flags=socket.AI_NUMERICHOST)
        return [*found, *(real("203.0.112.7", port) if host == "both.example" else ())]

    monkeypatch.setattr(redirects.socket, "getaddrinfo", lookup)
    return redirects.problem  # type: ignore[no-any-return]


NEAR = "an address of this machine or of a private network"


@pytest.mark.parametrize(
    ("first", "target", "fault"),
    [
        ("https://public.example/a", "https://cdn.example/b", ""),
        ("https://public.example/a", "https://unknown.example/b", ""),
        ("https://unknown.example/a", "https://cdn.example/b", ""),
        ("http://public.example/a", "https://cdn.example/b", ""),
        ("http://public.example/a", "http://public6.example/b", ""),
        ("https://public.example/a", "http://cdn.example/b", "an address without TLS"),
        ("https://mirror.lan/a", "http://mirror.lan/b", "an address without TLS"),
        ("http://mirror.lan/a", "http://files.lan/b", ""),
        ("http://mirror.lan:8080/a", "http://10.0.0.9:9000/b", ""),
        ("http://192.168.1.5/a", "https://cdn.example/b", ""),
        ("http://127.0.0.1:1/a", "http://127.0.0.1:2/b", ""),
        ("http://169.254.1.5/a", "http://169.254.1.6/b", ""),
        ("http://mirror.lan/a", "http://127.0.0.1/b", NEAR),
        ("http://mirror.lan/a", "http://metadata.example/b", NEAR),
        *(
            ("https://public.example/a", f"https://{host}/b", NEAR)
            for host in (
                *("127.0.0.1", "localhost", "[::1]", "10.0.0.9", "192.168.1.5", "172.16.0.1", "100.64.0.1"),
                *("169.254.169.254", "[fe80::1]", "[fd00::1]", "0.0.0.0", "224.0.0.1", "2130706433", "0x7f.1"),  # noqa: S104
                *("[::ffff:127.0.0.1]", "files.lan", "inward.example", "metadata.example", "both.example"),
                "mapped.example",
            )
        ),
        *(
            ("https://public.example/a", target, "an invalid address")
            for target in ("ftp://cdn.example/b", "file:///etc/passwd", "https://u:p@cdn.example/", "https:///b")
        ),
    ],
)
def test_a_redirect_leads_no_nearer_than_the_configured_host(
    problem: Callable[..., str], first: str, target: str, fault: str
) -> None:
    assert problem(first, target, first=first) == fault


def test_a_redirect_is_judged_by_the_host_that_was_configured(problem: Callable[..., str]) -> None:
    """The second hop of a mirror in a private network may lead back to it."""
    assert problem("https://cdn.example/", "https://mirror.lan/", first="https://files.lan/") == ""
    assert problem("https://cdn.example/", "https://mirror.lan/", first="https://public.example/") == NEAR


def test_a_redirect_that_is_refused_is_final(http: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names stand for a public host; the request goes to this machine."""
    requests: list[str] = []

    def send(server: Source, _: int) -> None:
        requests.append(server.path)
        server.send_response(302)
        server.send_header("Location", "http://169.254.169.254/latest/meta-data/")
        server.send_header("Content-Length", "0")
        server.end_headers()

    redirects = stage_redirects
    monkeypatch.setattr(redirects, "nearness", lambda host: 0 if host == "127.0.0.1" else 2)
    with source(send) as (url, _):
        assert download(http, url, tmp_path / "x") == f"{url}: redirect to {NEAR}"
    assert requests == ["/x"]
