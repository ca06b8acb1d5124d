"""The servers of one host for others, with hostile clients: limits on sizes, connections and time, and for whom."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host import local as units_host
from sparkiac.host.network import doors, peers
from sparkiac.host.stage import share as stage_share
from sparkiac.host.switch import http
from tests.host.staging import free_port
from tests.host.traffic import Caller

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.host.traffic import Network

PATIENCE_S = 600
TOKEN = "canary-9b1e"  # noqa: S105  no token
VOTE = {"host": "b", "round": "ready", "vote": True}
PEERS = ["10.77.1.2", "fd00::12"]


class Votes:
    """A vote server, and what it has heard."""

    def __init__(self) -> None:
        """Listen."""
        self.heard: list[tuple[str, str | None, bool]] = []
        self.members = http.Members("b", ["a", "b"], "a", "127.0.0.1", free_port(), "run/1", TOKEN)
        self.server = http.serve(self.members, self.hear)

    def hear(self, *vote: Any) -> str:  # noqa: ANN401
        """Record a vote; raise TypeError, as the ballot does, for a round that is no name."""
        hash(vote)
        self.heard.append(vote)
        return "go"

    def open(self) -> socket.socket:
        """Connect."""
        return socket.create_connection(("127.0.0.1", self.members.port), timeout=PATIENCE_S)

    def answer(self, *headers: str, body: bytes = b"", path: str = "/run%2F1") -> bytes:
        """Send a request and return the status line; an empty one if the connection ends without."""
        with self.open() as line:
            line.sendall("\r\n".join([f"POST {path} HTTP/1.1", *headers, "", ""]).encode() + body)
            return first_line(line)


def first_line(line: socket.socket) -> bytes:
    """Return the first line that a server sends; an empty one if it ends the connection."""
    found = b""
    try:
        while b"\r\n" not in found and (data := line.recv(1000)):
            found += data
    except ConnectionError:
        return b""
    return found.partition(b"\r\n")[0]


@contextmanager
def listening() -> Iterator[Votes]:
    """Serve votes."""
    found = Votes()
    try:
        yield found
    finally:
        found.server.shutdown()
        found.server.server_close()


@pytest.fixture(scope="module")
def server() -> Iterator[Votes]:
    """Serve votes for all tests, because the end of a server takes half a second."""
    with listening() as found:
        yield found


@pytest.fixture
def votes(server: Votes) -> Votes:
    """Return a vote server that has heard nothing."""
    server.heard.clear()
    return server


BEARER = f"Authorization: Bearer {TOKEN}"


@pytest.mark.parametrize("token", [BEARER, "X-None: 1"], ids=["token", "no-token"])
@pytest.mark.parametrize(
    "length",
    [
        *("-1", "x", "", "+5", "1_0", "0x10", "5 5", "0", "4097", "60000", "9" * 30, "0" * 20 + "14096000", "\xb2"),
        None,
    ],
)
def test_a_bad_length_is_refused_before_anything_is_read(votes: Votes, length: str | None, token: str) -> None:
    headers = [token, *([] if length is None else [f"Content-Length: {length}"])]
    assert votes.answer(*headers).startswith(b"HTTP/1.0 400 ")  # no body was sent
    assert votes.heard == []


def test_an_endless_body_is_not_read(votes: Votes, capfd: pytest.CaptureFixture[str]) -> None:
    """The kernel takes some megabytes in; the server once took 836."""
    sent = 0
    with votes.open() as line:
        line.sendall(b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n")
        with suppress(ConnectionError):
            while sent < 1 << 28:
                sent += line.send(bytes(1 << 20))
    assert sent < 1 << 26
    assert capfd.readouterr().err == ""


def test_the_token_is_checked_before_the_body_is_read(votes: Votes) -> None:
    assert votes.answer("Content-Length: 100", "Authorization: Bearer other").startswith(b"HTTP/1.0 403 ")
    assert votes.answer("Content-Length: 100").startswith(b"HTTP/1.0 403 ")
    assert votes.answer("Content-Length: 100", "Authorization: Bearer \xe9").startswith(b"HTTP/1.0 403 ")


def test_a_vote_and_a_vote_for_a_run_that_has_ended(votes: Votes) -> None:
    body = json.dumps(VOTE).encode()
    length = f"Content-Length: {len(body)}"
    assert votes.answer(BEARER, length, body=body).startswith(b"HTTP/1.0 200 ")
    assert votes.heard == [("b", "ready", True)]
    assert votes.answer(length, body=body, path="/run%2F0").startswith(b"HTTP/1.0 200 ")
    assert http.ask(votes.members, "ready", vote=True) == "go"
    assert http.ask(votes.members._replace(run="run/0"), "ready", vote=True) == "back"
    assert len(votes.heard) == 2


@pytest.mark.parametrize(
    "body",
    [
        *(b"[" * 4000, b'{"a":' * 800, b"[" * 700 + b"]" * 700, b'{"host": ' + b"[" * 500 + b"]" * 500 + b"}"),
        *(
            b"{}",
            b"[]",
            b"1",
            b'"x"',
            b"null",
            b"NaN",
            b"9" * 4000,
            b"\xff\xfe",
            b'{"host": "b", "round": [], "vote": 1}',
        ),
    ],
)
def test_a_bad_message_is_refused_without_a_traceback(
    votes: Votes, body: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    length = f"Content-Length: {len(body)}"
    for path, headers in (("/run%2F1", [BEARER, length]), ("/other", [length])):
        status = votes.answer(*headers, body=body, path=path)
        assert status.startswith(b"HTTP/1.0 4") or path == "/other", status
    assert http.ask(votes.members, None, vote=True) == "go"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("begin", [b"", b"POST / HTTP/1.1\r\nX: ", b"POST /x HTTP/1.1\r\nContent-Length: 90\r\n\r\n"])
def test_a_drip_is_ended(
    votes: Votes, begin: bytes, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each byte arrives in time; the request never does."""
    with monkeypatch.context() as short, votes.open() as line:
        short.setattr(peers, "REQUEST_S", 0.3)
        line.sendall(begin)
        line.settimeout(0.02)
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                line.send(b"x")
                if not line.recv(1000):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            pytest.fail("the connection is still open")
    assert http.ask(votes.members, "ready", vote=True) == "go"
    assert capfd.readouterr().err == ""


def test_too_many_connections_are_ended_and_the_next_ones_served(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "CONNECTIONS", 3)
    with listening() as votes:
        held = [votes.open() for _ in range(3)]
        wait_for(lambda: votes.server.slots._value == 0)  # noqa: SLF001  what is left
        with votes.open() as late:
            assert first_line(late) == b""
        for line in held:
            line.close()
        wait_for(lambda: votes.server.slots._value == 3)  # noqa: SLF001
        assert http.ask(votes.members, "ready", vote=True) == "go"
    assert capfd.readouterr().err == ""


def wait_for(condition: Any) -> None:  # noqa: ANN401
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_an_ipv6_address() -> None:
    members = http.Members("b", ["a", "b"], "a", "::1", free_port(), "run", TOKEN)
    try:
        server = http.serve(members, lambda *_: "wait")
    except OSError:
        pytest.skip("no IPv6 on this machine")
    assert http.ask(members, "ready", vote=True) == "wait"
    server.shutdown()
    server.server_close()


@pytest.fixture
def shared() -> Iterator[tuple[str, int]]:
    """Serve nothing, as `stage share` does."""
    share = stage_share
    handler = type("Bound", (share.Handler,), {"shelf": share.SharedContent([], frozenset(), TOKEN)})
    server = share.listening("127.0.0.1:0", handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[:2]
    server.shutdown()
    server.server_close()


def test_a_client_of_shared_files_has_a_deadline_until_its_token_is_known(
    shared: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "REQUEST_S", 0.3)
    request = f"GET /file/x HTTP/1.1\r\n{BEARER}\r\n\r\n".encode()
    with socket.create_connection(shared, timeout=PATIENCE_S) as known:
        known.sendall(request)
        assert first_line(known) == b"HTTP/1.1 404 Not Found"
    with socket.create_connection(shared, timeout=PATIENCE_S) as stranger:
        stranger.sendall(request[:-2])
        # what has arrived at the deadline is the request, and it is refused; the answer can no longer be sent
        assert first_line(stranger) == b""


def test_without_nft_a_port_opens_only_if_that_is_accepted_and_the_journal_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    machine = units_host.LocalHost(tmp_path)
    for required in (True, False):
        peers.admit(machine, "7347", [], required=required)  # an address is a name
    assert capsys.readouterr().err == ""
    with pytest.raises(doors.DoorsError, match=r"^port 7347 is open .*; or set `nft: optional` for this host$"):
        peers.admit(machine, "7347", PEERS, required=True)
    peers.admit(machine, "7347", PEERS, required=False)
    assert capsys.readouterr().err.startswith("port 7347 is open for every host that reaches this one: nft cannot be")


def test_real_nftables_let_only_the_peers_connect(network: Network) -> None:
    try:
        peers.admit(network.machine, "9000", PEERS, required=True)
        peers.admit(network.machine, "9000", PEERS, required=True)  # the next apply
        assert Caller(network, "client").call("once", "10.77.1.1:9000") == "ok"
        assert Caller(network, "host").call("once", "127.0.0.1:9000") == "ok"
        assert Caller(network, "container").call("once", "10.77.2.1:9000") == "TimeoutError"
        assert Caller(network, "container").call("once", "10.77.2.1:9001") == "ok"
        assert doors.tables(network.machine) == ["inet sparkiac"]
    finally:
        doors.change(network.machine, lambda _: doors.Doors())
