"""What a hostile server may decide: not where a request goes, how much is read, or how long it takes."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import httpx2
import pytest

from sparkiac.host.stage import redirects
from sparkiac.upstream import errors
from sparkiac.upstream.hub.client import HubClient
from sparkiac.upstream.transport import HttpRequest, HttpResponse, HttpTimeouts, Transport
from tests.standin.hub import Fault
from tests.standin.hub import Hub as StandIn
from tests.upstream.hub.tiny import HANDLE, client, refused, tiny
from tests.upstream.hub.tiny import resolve as resolve_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def server(talk: Callable[[socket.socket, threading.Event], None]) -> Iterator[tuple[str, list[bytes]]]:
    """Listen on this machine, and answer each request by `talk`; give the address and the requests."""
    ended, requests = threading.Event(), list[bytes]()

    def answer(connection: socket.socket) -> None:
        with connection:
            requests.append(connection.recv(65_536))
            with suppress(OSError):
                talk(connection, ended)

    def listen() -> None:
        while not ended.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=listen, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", requests
        ended.set()


def send(head: str, body: bytes = b"") -> Callable[[socket.socket, threading.Event], None]:
    """Send this, and end."""
    return lambda connection, _: connection.sendall(f"HTTP/1.1 {head}\r\nConnection: close\r\n\r\n".encode() + body)


def drip(head: bytes) -> Callable[[socket.socket, threading.Event], None]:
    """Send a byte every tenth of a second for ever."""

    def talk(connection: socket.socket, ended: threading.Event) -> None:
        connection.sendall(head)
        while not ended.wait(0.1):
            connection.sendall(b"x")

    return talk


DRIPS = {
    "body": drip(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"),
    "headers": drip(b"HTTP/1.1 200 OK\r\nX-A: "),
    "error": drip(b"HTTP/1.1 404 Not Found\r\nContent-Length: 100000\r\n\r\n"),
}


SHORT = HttpTimeouts(connect=5, read=0.3, total=0.5)


def get(url: str, **changed: object) -> HttpResponse:
    """Send one GET request without waiting between tries."""
    with Transport(errors.FILE, timeouts=SHORT, sleep=lambda _: None) as transport:
        return transport.send(HttpRequest(url, url, 1000)._replace(**changed))  # type: ignore[arg-type]


@pytest.mark.parametrize("part", DRIPS)
def test_a_drip_does_not_outlive_the_deadline(part: str) -> None:
    begun = time.monotonic()
    with server(DRIPS[part]) as (url, requests):
        refusal = refused(lambda: get(url, max_bytes=100_000))
        assert len(requests) == 1
        assert refused(lambda: resolve_model(HANDLE, hub=HubClient(url, timeouts=SHORT))).code == "LCK013"
    assert refusal.code == "LCK021"
    assert ("no response within 0.5 s" if part == "headers" else "too slow: ") in str(refusal)
    assert time.monotonic() - begun < 600  # the whole drip takes 10,000 seconds


def test_a_compressed_response_is_not_unpacked() -> None:
    bomb = gzip.compress(bytes(20_000_000))
    with server(send(f"200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(bomb)}", bomb)) as (url, requests):
        refusal = refused(lambda: get(url))
    assert str(refusal).endswith(": compressed response to a request for an uncompressed one")
    assert refusal.code == "LCK021"
    assert b"accept-encoding: identity" in requests[0].lower()


def test_only_the_start_is_read_on_request() -> None:
    with server(send("200 OK", b"x" * 5000)) as (url, _):
        response = get(url, truncate=True)
        assert (response.body, response.size_bytes) == (b"x" * 1000, 1000)
        assert str(refused(lambda: get(url))).endswith(": response of more than 1000 bytes")


@pytest.mark.parametrize("status", ["200 OK", "500 Broken", "404 Not Found"])
def test_an_endless_answer_is_left(status: str) -> None:
    sent: list[int] = []

    def flood(connection: socket.socket, ended: threading.Event) -> None:
        connection.sendall(f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n\r\n".encode())
        while not ended.is_set():
            sent.append(connection.send(b"[" * 65_536))

    with server(flood) as (url, _):
        refusal = refused(lambda: resolve_model(HANDLE, hub=HubClient(url, sleep=lambda _: None)))
    assert refusal.code in {"LCK010", "LCK013", "LCK014"}
    assert sum(sent) < 60_000_000


@pytest.mark.parametrize("size", [10**24, 10**15, 1e24])
def test_a_size_that_no_file_has_is_refused(size: float) -> None:
    listing = {"id": HANDLE, "sha": "0" * 40, "siblings": [{"rfilename": "a.bin", "size": size, "blobId": "0" * 40}]}
    body = json.dumps(listing).encode()
    with server(send(f"200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}", body)) as (url, _):
        refusal = refused(lambda: resolve_model(HANDLE, hub=HubClient(url, sleep=lambda _: None)))
    assert refusal.code == "LCK014"
    assert "a file has no size, or more than 999999999999999 bytes" in str(refusal)


@pytest.mark.parametrize("number", ["1000000000000000000000000", "Infinity"])
def test_a_config_with_a_number_that_no_lock_can_hold_is_refused(number: str) -> None:
    with StandIn(tiny({"config.json": f'{{"vocab_size": {number}}}'.encode()})) as hub:
        refusal = refused(lambda: resolve_model(HANDLE, hub=client(hub)))
    assert refusal.code == "LCK014"


def test_redirects_end_somewhere() -> None:
    with server(send("302 Found\r\nLocation: /again\r\nContent-Length: 0")) as (url, requests):
        refusal = refused(lambda: get(url))
    assert str(refusal).endswith(": more than 5 redirects")
    assert len(requests) == 6


def test_a_redirect_without_a_valid_address_is_refused() -> None:
    with server(send("302 Found\r\nLocation: https://a:port/\r\nContent-Length: 0")) as (url, _):
        assert str(refused(lambda: get(url))).endswith(": redirect to an invalid address")


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look names up without a server."""
    known = {"a.example": "203.0.112.7", "b.example": "2600::7", "inward.example": "127.0.0.1"}
    known |= {"mirror.lan": "192.168.1.5", "files.lan": "10.0.0.9"}
    real = socket.getaddrinfo

    def lookup(host: str, port: None) -> object:
        return real(known.get(host, host), port, flags=socket.AI_NUMERICHOST)

    monkeypatch.setattr(redirects.socket, "getaddrinfo", lookup)


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize(
    ("url", "location", "first", "fault"),
    [
        ("https://a.example/x", "http://a.example/x", "https://a.example/x", "an address without TLS"),
        ("http://localhost/x", "http://b.example/x", "http://localhost/x", "an address without TLS"),
        ("https://a.example/x", "ftp://a.example/x", "https://a.example/x", "an invalid address"),
        ("https://a.example/x", "https://u:p@b.example/", "https://a.example/x", "an invalid address"),
        ("https://10.0.0.9/x", "http://10.0.0.9/x", "https://10.0.0.9/x", "an address without TLS"),
        ("http://10.0.0.9/x", "http://127.0.0.1/x", "http://10.0.0.9/x", "an address of this machine"),
        ("https://b.example/x", "https://10.0.0.9/x", "https://a.example/x", "an address of this machine"),
        *(
            ("https://a.example/x", f"https://{host}/x", "https://a.example/x", "an address of this machine")
            for host in (
                *("127.0.0.1", "localhost", "x.localhost", "169.254.169.254", "[::1]", "[fe80::1]", "0.0.0.0"),  # noqa: S104  no server listens
                *("2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "metadata.google.internal", "224.0.0.1"),
                *("10.0.0.9", "192.168.1.9", "172.16.0.1", "100.64.0.1", "[fd00::1]", "inward.example", "files.lan"),
            )
        ),
    ],
)
def test_a_redirect_leads_to_no_host_of_ours_and_out_of_no_tls(url: str, location: str, first: str, fault: str) -> None:
    target = httpx2.URL(url).join(location)
    assert fault in redirects.problem(url, str(target), first=first)


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize(
    ("url", "location", "target"),
    [
        ("https://a.example/x", "/y", "https://a.example/y"),
        ("http://192.168.1.5/x", "https://192.168.1.9/y", "https://192.168.1.9/y"),
        ("http://mirror.lan/x", "http://192.168.1.9/y", "http://192.168.1.9/y"),
        ("https://mirror.lan/x", "https://files.lan/y", "https://files.lan/y"),
        ("https://10.0.0.9/x", "https://a.example/y", "https://a.example/y"),
        ("https://a.example/x", "https://unknown.example/y", "https://unknown.example/y"),
        ("http://127.0.0.1:1/x", "http://127.0.0.1:2/y", "http://127.0.0.1:2/y"),
        ("http://localhost/x", "http://127.0.0.1:2/y", "http://127.0.0.1:2/y"),
    ],
)
def test_other_redirects_are_followed(url: str, location: str, target: str) -> None:
    assert httpx2.URL(url).join(location) == target
    assert redirects.problem(url, target, first=url) == ""


def test_a_token_does_not_go_to_another_host() -> None:
    with (
        server(send("404 Not Found\r\nContent-Length: 0")) as (other, came),
        server(send(f"302 Found\r\nLocation: {other}/x\r\nContent-Length: 0")) as (url, first),
    ):
        refused(lambda: resolve_model(HANDLE, hub=HubClient(url, "hf_of_a_test")))
    assert b"authorization: bearer" in first[0].lower()
    assert b"authorization" not in came[0].lower()


def test_the_stand_in_is_read_as_before() -> None:
    with StandIn(tiny()) as hub:
        hub.fail(Fault("LICENSE", status=503, times=1))
        assert resolve_model(HANDLE, hub=client(hub)).files
