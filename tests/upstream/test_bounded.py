"""What a hostile server may decide: not where a request goes, how much is read, or how long it takes."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from sparkiac.upstream import files, redirects
from sparkiac.upstream.files import resolve
from sparkiac.upstream.hub import Hub
from sparkiac.upstream.hub import resolve as resolve_model
from sparkiac.upstream.hub.patience import Unanswered
from tests.standin.hub import Fault
from tests.standin.hub import Hub as StandIn
from tests.upstream.hub.tiny import HANDLE, client, refused, tiny

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


@pytest.mark.parametrize("where", DRIPS)
def test_a_drip_does_not_outlive_the_deadline(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_FIRST_SECONDS", 0.5)
    begun = time.monotonic()
    with server(DRIPS[where]) as (url, _):
        model = refused(lambda: resolve_model(HANDLE, hub=Hub(url, waits=(0,), timeout_seconds=0.3)))
        assert model.code == "LCK013"
        if where != "error":
            assert refused(lambda: resolve(f"{url}/x.py", hub=Hub(url), waits=(0,))).code == "LCK021"
    assert time.monotonic() - begun < 600  # the whole drip takes 10,000 seconds


def test_a_compressed_answer_is_not_unpacked() -> None:
    bomb = gzip.compress(bytes(20_000_000))
    told = f"200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(bomb)}"
    with server(send(told, bomb)) as (url, _):
        model = refused(lambda: resolve_model(HANDLE, hub=Hub(url, waits=())))
        file = refused(lambda: resolve(f"{url}/x.py", hub=Hub(url), waits=()))
    assert (model.code, file.code) == ("LCK013", "LCK021")
    assert "it compresses its answer, though it was asked not to" in str(model)
    assert "it compresses its answer" in str(file)


@pytest.mark.parametrize("status", ["200 OK", "500 Broken", "404 Not Found"])
def test_an_endless_answer_is_left(status: str) -> None:
    sent: list[int] = []

    def flood(connection: socket.socket, ended: threading.Event) -> None:
        connection.sendall(f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n\r\n".encode())
        while not ended.is_set():
            sent.append(connection.send(b"[" * 65_536))

    with server(flood) as (url, _):
        refusal = refused(lambda: resolve_model(HANDLE, hub=Hub(url, waits=())))
    assert refusal.code in {"LCK010", "LCK013", "LCK014"}
    assert sum(sent) < 60_000_000


@pytest.mark.parametrize("size", [10**24, 10**15, 1e24])
def test_a_size_that_no_file_has_is_refused(size: float) -> None:
    listing = {"id": HANDLE, "sha": "0" * 40, "siblings": [{"rfilename": "a.bin", "size": size, "blobId": "0" * 40}]}
    body = json.dumps(listing).encode()
    with server(send(f"200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}", body)) as (url, _):
        refusal = refused(lambda: resolve_model(HANDLE, hub=Hub(url, waits=())))
    assert refusal.code == "LCK014"
    assert "a file without a size, or with more than 999999999999999 bytes" in str(refusal)


@pytest.mark.parametrize("number", ["1000000000000000000000000", "Infinity"])
def test_a_config_with_a_number_that_no_lock_can_hold_is_refused(number: str) -> None:
    with StandIn(tiny({"config.json": f'{{"vocab_size": {number}}}'.encode()})) as hub:
        refusal = refused(lambda: resolve_model(HANDLE, hub=client(hub)))
    assert refusal.code == "LCK014"


def test_redirects_end_somewhere() -> None:
    with server(send("302 Found\r\nLocation: /again\r\nContent-Length: 0")) as (url, requests):
        refusal = refused(lambda: resolve(f"{url}/x.py", hub=Hub(url), waits=(0,)))
    assert str(refusal).endswith("it redirects more than 5 times")
    assert len(requests) == 6


@pytest.mark.parametrize(
    ("url", "location", "first", "fault"),
    [
        ("https://a.example/x", "http://a.example/x", "https://a.example/x", "an address without TLS"),
        ("https://a.example/x", "ftp://a.example/x", "https://a.example/x", "an address that cannot be followed"),
        ("https://a.example/x", "https://u:p@b.example/", "https://a.example/x", "an address that cannot be followed"),
        ("https://a.example/x", "", "https://a.example/x", "an address that cannot be followed"),
        *(
            ("https://a.example/x", f"https://{host}/x", "https://a.example/x", "an address of this machine")
            for host in (
                *("127.0.0.1", "localhost", "x.localhost", "169.254.169.254", "[::1]", "[fe80::1]", "0.0.0.0"),  # noqa: S104  no server listens
                *("2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "metadata.google.internal", "224.0.0.1"),
            )
        ),
    ],
)
def test_a_redirect_leads_to_no_host_of_ours_and_out_of_no_tls(url: str, location: str, first: str, fault: str) -> None:
    with pytest.raises(Unanswered, match=f"it redirects to {fault}"):
        redirects.target(url, location, first=first)


@pytest.mark.parametrize(
    ("url", "location", "target"),
    [
        ("https://a.example/x", "/y", "https://a.example/y"),
        ("http://a.example/x", "https://192.168.1.9/y", "https://192.168.1.9/y"),
        ("http://127.0.0.1:1/x", "http://127.0.0.1:2/y", "http://127.0.0.1:2/y"),
        ("http://localhost/x", "http://127.0.0.1:2/y", "http://127.0.0.1:2/y"),
    ],
)
def test_other_redirects_are_followed(url: str, location: str, target: str) -> None:
    assert redirects.target(url, location, first=url) == target


def test_a_token_does_not_go_to_another_host() -> None:
    with (
        server(send("404 Not Found\r\nContent-Length: 0")) as (other, came),
        server(send(f"302 Found\r\nLocation: {other}/x\r\nContent-Length: 0")) as (url, first),
    ):
        refused(lambda: resolve_model(HANDLE, hub=Hub(url, "hf_of_a_test", waits=())))
    assert b"authorization: bearer" in first[0].lower()
    assert b"authorization" not in came[0].lower()


def test_the_stand_in_is_read_as_before() -> None:
    with StandIn(tiny()) as hub:
        hub.fail(Fault("LICENSE", status=503, times=1))
        assert resolve_model(HANDLE, hub=client(hub)).files
