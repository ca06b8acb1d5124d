"""Stand-ins for model servers, and a real HAProxy on loopback with the configuration of a plan."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from sparkiac.host.local import LocalHost
from sparkiac.host.preflight import gateway_keys
from sparkiac.render.templates import fill
from tests.plan.fleets import ONES, containers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

WAIT_S: Final = 600
KEYS: Final = {"team_key": "key-of-the-servers", "gate_key": "key-of-everybody", "laptop_key": "key-of-laptop"}
IMAGE: Final = f"nvcr.io/nvidia/vllm:26.04-py3@{ONES}"
FLEET: Final = f"""\
name: lab
defaults: {{model_store: /srv/models, api_key: {{secret: team_key}}}}
hosts:
  spark-01: {{address: 192.168.1.11}}
  spark-02: {{address: 192.168.1.12}}
  spark-03: {{address: 192.168.1.13}}
deployments:
  one: {{recipe: base/single-spark, model: example/model, image: "{IMAGE}", hosts: spark-01, port: 8001}}
  two: {{recipe: base/single-spark, model: example/model, image: "{IMAGE}", hosts: spark-02, port: 8001}}
  spare: {{recipe: base/single-spark, model: example/big, image: "{IMAGE}", hosts: spark-03, port: 8001}}
services:
  gateway:
    kind: gateway
    image: "example.org/haproxy@{ONES}"
    hosts: spark-02
    api_key: {{secret: gate_key}}
    clients: {{laptop: {{api_key: {{secret: laptop_key}}, requests_per_min: 5, concurrent: 2}}}}
routes:
  both: {{to: [one, two]}}
  safe: {{to: [one], fallback: [spare]}}
  narrow: {{to: [one], limits: {{concurrent: 1, waiting: 1}}}}
"""


class Asked(NamedTuple):
    """A request that reached a stand-in."""

    path: str
    headers: Mapping[str, str]
    body: bytes


class StandIn:
    """A model server that answers with a fixed body, and keeps what it was asked."""

    def __init__(self) -> None:
        """Listen on a free port."""
        self.asked: list[Asked] = []
        self.answer = b'{"object": "answer"}'
        self.events: list[bytes] = []
        """Parts of a stream; then there is no other answer."""
        self.dies = False
        """Whether it closes the connection after the parts, without the end of the stream."""
        self.garbage = False
        self.hold = threading.Event()
        """Answers wait for it."""
        self.hold.set()
        self.key: str | None = None
        """Key without which it answers 401 below /v1; None accepts every key."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.send_response(200 if self.path == "/health" or self.accepted() else 401)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def accepted(self) -> bool:
                return outer.key is None or self.headers["Authorization"] == f"Bearer {outer.key}"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                if not self.accepted():
                    self.send_error(401)
                    return
                outer.asked.append(Asked(self.path, headers, body))
                outer.respond(self)

            def log_message(self, *_: object) -> None:
                pass

        self.handler, self.port = Handler, 0
        self.listen()

    def listen(self) -> None:
        """Accept connections, on the former port if there was one."""
        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), self.handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def respond(self, to: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        if self.garbage:
            to.wfile.write(b"\x00\x01 this is not HTTP\r\n\r\n")
            to.close_connection = True
            return
        if not self.events:
            self.hold.wait(WAIT_S)
            to.send_response(200)
            to.send_header("Content-Type", "application/json")
            to.send_header("Content-Length", str(len(self.answer)))
            to.end_headers()
            to.wfile.write(self.answer)
            return
        to.send_response(200)
        to.send_header("Content-Type", "text/event-stream")
        to.send_header("Transfer-Encoding", "chunked")
        to.end_headers()
        for number, event in enumerate(self.events):
            if number:
                self.hold.wait(WAIT_S)
            to.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            to.wfile.flush()
        to.close_connection = True
        if not self.dies:
            to.wfile.write(b"0\r\n\r\n")

    def refuse(self) -> None:
        """Refuse new connections, as nftables does for a unit that drains. Requests that run go on."""
        self.server.shutdown()
        while select.select([self.server.socket], [], [], 0)[0]:
            self.server.handle_request()  # it was accepted by the kernel before
        self.server.socket.close()


class Answer(NamedTuple):
    """What a client gets."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def error(self) -> dict[str, Any]:
        """Return the error in the body."""
        assert self.headers["content-type"] == "application/json"
        found: dict[str, Any] = json.loads(self.body)["error"]
        return found


def haproxy() -> str:
    """Return the path of HAProxy; the test is skipped without it."""
    found = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        pytest.skip("haproxy is not installed (Debian package haproxy)")
    return found


def free_port() -> int:
    """Return a port that nothing uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


class Gateway:
    """A running HAProxy."""

    def __init__(self, root: Path, servers: Mapping[str, int], text: str = FLEET, **more: str) -> None:
        """Write configuration and keys of the gateway of a plan; `servers` has their ports, `more` further secrets."""
        self.host, self.port, self.metrics = LocalHost(root), free_port(), free_port()
        config, _, keys = (each.content for each in containers(text)["spark-02/gateway"].documents)
        for name, value in {**KEYS, **more}.items():
            self.secret(name, value)
        directory = root / "etc/sparkiac/gateway/config"
        directory.mkdir(parents=True)
        (directory / "keys.json").write_text(json.dumps(keys))
        (root / "run/sparkiac-gateway").mkdir(parents=True)
        self.write_keys()
        routes = [
            {**each, "servers": [{**one, "address": f"127.0.0.1:{servers[one['name']]}"} for one in each["servers"]]}
            for each in config["routes"]
        ]
        places = {"listen": f"127.0.0.1:{self.port}", "metrics": f"127.0.0.1:{self.metrics}", "routes": routes}
        places |= {"keys": str(root / "run/sparkiac-gateway/keys"), "config": str(directory)}
        places["threads"] = min(config["threads"], os.cpu_count() or 1)  # 3.2 warns of more than there are CPUs
        (directory / "usage.lua").write_bytes(fill("gateway/usage.lua.j2", {}))
        self.file = directory / "haproxy.cfg"
        self.file.write_bytes(fill("gateway/haproxy.cfg.j2", {**config, **places}))
        self.log = root / "log"

    def secret(self, name: str, value: str) -> None:
        """Write a secret of the host."""
        path = self.host.path(f"/etc/sparkiac/secrets/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")

    def write_keys(self) -> None:
        """Run the program that the unit runs at a start and at a reload."""
        assert gateway_keys.main(["gateway"], self.host) == 0

    def check(self) -> tuple[int, str]:
        """Return what HAProxy says of its configuration."""
        argv = [haproxy(), "-c", "-f", str(self.file)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    @contextlib.contextmanager
    def running(self, ready: Callable[[], bool] | None = None) -> Iterator[Gateway]:
        """Run it as the image does: a master and a worker."""
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([haproxy(), "-W", "-db", "-f", str(self.file)], stdout=log, stderr=log)
            try:
                until(ready or (lambda: self.ask("GET", "/health").status == 200))
                yield self
            finally:
                self.process.terminate()
                self.process.wait(WAIT_S)

    def reload(self, holds: Callable[[], bool]) -> None:
        """Let it read its files again until something holds: a master that has just reloaded may miss a signal."""

        def again() -> bool:
            self.process.send_signal(signal.SIGUSR2)
            time.sleep(0.5)
            return holds()

        until(again)

    def connection(self) -> http.client.HTTPConnection:
        """Return a connection of a client."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)

    def ask(
        self, method: str, path: str, body: bytes | Iterator[bytes] | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Send one request."""
        with contextlib.closing(self.connection()) as to:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it answers before all of a body is there
                to.request(method, path, body, headers or {}, encode_chunked=isinstance(body, bytes | None) is False)
            found = to.getresponse()
            return Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read())

    def measured(self, name: str, path: str = "/metrics") -> list[float]:
        """Return the values of a metric."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.metrics, timeout=WAIT_S)) as to:
            to.request("GET", path)
            lines = to.getresponse().read().decode().splitlines()
        return [float(line.rpartition(" ")[2]) for line in lines if line.startswith(name)]

    def chat(self, model: str = "both", key: str = KEYS["gate_key"], **headers: str) -> Answer:
        """Send a chat completion."""
        return self.ask("POST", "/v1/chat/completions", chat(model), bearer(key) | headers)


def chat(model: str, text: str = "a prompt") -> bytes:
    """Return the body of a request, with `model` at its end."""
    return json.dumps({"messages": [{"role": "user", "content": text}], "model": model}).encode()


def bearer(key: str = KEYS["gate_key"]) -> dict[str, str]:
    """Return the headers of a client."""
    return {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + WAIT_S
    while True:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if holds():
                return
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.05)
