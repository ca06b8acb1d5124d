"""The health check, against a small server that behaves in one way or another."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import ModuleType

    Ask = Callable[..., tuple[int, str]]

KEY = "s3cret"


class Handler(BaseHTTPRequestHandler):
    """Answers as its server's `answers` say: (status, body) for each path; a number is a time to hang."""

    server: Service

    def answer(self) -> None:
        """Answer any request."""
        self.server.asked.append(f"{self.command} {self.path}")
        if self.path != "/health" and self.headers.get("Authorization") != self.server.authorization:
            self.send(401, {"error": "Unauthorized"})
            return
        answer = self.server.answers[self.path]
        if isinstance(answer, float):
            self.server.hang.wait(answer)
            return
        self.send(*answer)

    do_GET = do_POST = answer  # noqa: N815 - the names that http.server calls

    def send(self, status: int, body: object) -> None:
        """Send an answer."""
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


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
        self.answers: dict[str, tuple[int, object] | float] = {
            "/health": (200, ""),
            "/v1/models": (200, {"data": [{"id": "chat"}, {"id": "fast"}]}),
            "/v1/chat/completions": (200, {"choices": [{"message": {"content": None, "reasoning": "…"}}]}),
        }


@pytest.fixture
def service() -> Iterator[Service]:
    """Run a server."""
    with Service() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.hang.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def ask(probe: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Give a function that probes with one second for each answer: exit status, and what stderr says."""
    monkeypatch.setattr(probe, "HEALTH_TIMEOUT_S", 1)
    monkeypatch.setattr(probe, "WARM_UP_TIMEOUT_S", 1)
    monkeypatch.setattr(probe, "WAIT_STEP_S", 0.05)
    places = ["--marker", str(tmp_path / "warm"), "--token-file", str(tmp_path / "key")]

    def run(*arguments: str) -> tuple[int, str]:
        code = probe.main([*places, *arguments])
        return code, capsys.readouterr().err

    return run


def test_it_serves_and_is_warmed_up_once(service: Service, ask: Ask, tmp_path: Path) -> None:
    assert ask(service.url, "chat", "fast") == (0, "")
    assert service.asked == ["GET /health", "GET /v1/models", "POST /v1/chat/completions"]
    assert (tmp_path / "warm").exists()
    service.asked.clear()
    assert ask(service.url, "chat") == (0, "")
    assert service.asked == ["GET /health", "GET /v1/models"]
    assert ask("--warm-up", service.url, "chat") == (0, "")
    assert service.asked[-1] == "POST /v1/chat/completions"


def test_an_agent_is_not_asked_to_answer(service: Service, ask: Ask) -> None:
    """An answer of an agent is a whole turn with its tools; that it lists itself to who has the key is enough."""
    assert ask(service.url, "chat", "--no-warm-up") == (0, "")
    assert service.asked == ["GET /health", "GET /v1/models"]


def test_without_models_health_alone_counts(service: Service, ask: Ask) -> None:
    assert ask(service.url) == (0, "")
    assert service.asked == ["GET /health"]
    service.asked.clear()
    assert ask("--health", "", service.url) == (0, "")
    assert service.asked == []


def test_the_url_may_have_a_path(service: Service, ask: Ask) -> None:
    service.answers["/api/health"] = (200, "")
    assert ask(service.url + "/api/") == (0, "")


@pytest.mark.parametrize(
    ("path", "answer", "reason"),
    [
        ("/health", (503, "loading"), '/health: HTTP 503 "loading"'),
        ("/health", 9.0, "/health: no answer within 1 s"),
        ("/v1/models", (200, {"data": [{"id": "x"}]}), "/v1/models: serves x, not chat"),
        ("/v1/models", (200, {}), "/v1/models: serves nothing, not chat"),
        ("/v1/models", (200, [1]), "/v1/models: no JSON object: b'[1]'"),
        ("/v1/chat/completions", (500, "no"), '/v1/chat/completions: HTTP 500 "no"'),
        ("/v1/chat/completions", (200, {}), "/v1/chat/completions: an answer without choices"),
        ("/v1/chat/completions", 9.0, "/v1/chat/completions: no answer within 1 s"),
    ],
)
def test_one_line_says_why_not(service: Service, ask: Ask, path: str, answer: tuple[int, object], reason: str) -> None:
    service.answers[path] = answer
    assert ask(service.url, "chat") == (1, reason + "\n")


def test_nobody_listens(ask: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert ask(f"http://127.0.0.1:{port}") == (1, "/health: ConnectionRefusedError(111, 'Connection refused')\n")


def test_the_key_is_sent_from_its_file(service: Service, ask: Ask, tmp_path: Path) -> None:
    service.authorization = f"Bearer {KEY}"
    code, said = ask(service.url, "chat")
    assert code == 1
    assert said.startswith("/v1/models: HTTP 401")
    (tmp_path / "key").write_text(KEY + "\n")
    assert ask(service.url, "chat") == (0, "")
    (tmp_path / "key").write_text("wrong-canary\n")
    code, said = ask(service.url, "chat")
    assert code == 1
    assert "canary" not in said


def test_a_marker_that_cannot_be_made_is_not_passed_over(service: Service, ask: Ask) -> None:
    code, said = ask("--marker", "/proc/nowhere/warm", service.url, "chat")
    assert code == 1
    assert "/proc/nowhere/warm" in said


def test_aliases_of_a_model_are_served_too(service: Service, ask: Ask) -> None:
    """llama.cpp lists one model, under its first name in the order of the alphabet (row 1.2)."""
    service.answers["/v1/models"] = (200, {"data": [{"id": "aid", "aliases": ["aid", "chat"]}, {"id": "x"}]})
    assert ask(service.url, "chat", "aid", "x") == (0, "")
    assert ask(service.url, "other") == (1, "/v1/models: serves aid, aid, chat, x, not other\n")


def test_waiting_ends_when_it_serves(service: Service, ask: Ask) -> None:
    service.answers["/health"] = (503, "")
    threading.Timer(0.3, service.answers.update, [{"/health": (200, "")}]).start()
    assert ask("--wait", "20", service.url) == (0, "")
    assert len(service.asked) > 1


def test_waiting_ends_when_waiting_cannot_help(service: Service, ask: Ask) -> None:
    service.answers["/v1/models"] = (200, {"data": []})
    begun = time.monotonic()
    assert ask("--wait", "20", service.url, "chat") == (1, "/v1/models: serves nothing, not chat\n")
    assert time.monotonic() - begun < 5


def test_waiting_ends_in_time(service: Service, ask: Ask) -> None:
    service.answers["/health"] = (503, "")
    assert ask("--wait", "1", service.url)[0] == 1


def test_the_command_ignores_proxies(service: Service, scripts: Path, tmp_path: Path) -> None:
    argv = [scripts / "probe.py", "--marker", tmp_path / "warm", service.url, "chat"]
    done = subprocess.run(argv, env={"http_proxy": "http://127.0.0.1:9"}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("arguments", [[], ["127.0.0.1:8000"], ["https://127.0.0.1"]])
def test_wrong_usage(scripts: Path, arguments: list[str]) -> None:
    done = subprocess.run([scripts / "probe.py", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
