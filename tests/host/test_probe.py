"""The health check, against a small server that behaves in one way or another."""

from __future__ import annotations

import socket
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from tests.host.probed import Ask, Service

KEY = "s3cret"
CHAT = "/v1/chat/completions"


def test_it_serves_and_is_asked_for_an_answer_once(service: Service, ask: Ask) -> None:
    assert ask(service.url, "chat", "fast") == (0, "")
    assert service.asked == ["GET /health", "GET /v1/models", f"POST {CHAT}", "GET /metrics"]
    service.asked.clear()
    assert ask(service.url, "chat") == (0, "")
    assert service.asked == ["GET /health", "GET /v1/models"]
    assert ask("--warm-up", service.url, "chat") == (0, "")
    assert service.asked[-1] == f"POST {CHAT}"


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
        ("/v1/models", (200, {"data": [{"id": "x"}]}), "/v1/models: serves x, not chat"),
        ("/v1/models", (200, {}), "/v1/models: serves nothing, not chat"),
        ("/v1/models", (200, [1]), "/v1/models: response is not a JSON object: b'[1]'"),
        (CHAT, (500, "no"), f'{CHAT}: HTTP 500 "no"'),
        (CHAT, (400, "no"), f'{CHAT}: HTTP 400 "no"'),
        (CHAT, (200, {}), f"{CHAT}: response has no choices"),
        (CHAT, (200, {"choices": []}), f"{CHAT}: response has no choices"),
        (CHAT, (200, {"choices": [{"message": None}]}), f"{CHAT}: null answer"),
    ],
)
def test_one_line_says_why_not(service: Service, ask: Ask, path: str, answer: tuple[int, object], reason: str) -> None:
    service.answers[path] = answer
    assert ask(service.url, "chat") == (1, reason + "\n")


@pytest.mark.parametrize("where", [("/health", "HEALTH_TIMEOUT_S"), (CHAT, "FIRST_ANSWER_TIMEOUT_S")])
def test_a_hang_has_an_end(
    service: Service, ask: Ask, probe: ModuleType, monkeypatch: pytest.MonkeyPatch, where: tuple[str, str]
) -> None:
    path, time_limit = where
    monkeypatch.setattr(probe, time_limit, 1)
    service.answers[path] = 600.0
    assert ask(service.url, "chat") == (1, f"{path}: no answer within 1 s\n")


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


def test_a_state_that_cannot_be_kept_is_not_passed_over(service: Service, ask: Ask) -> None:
    code, said = ask("--state", "/proc/nowhere/state", service.url, "chat")
    assert code == 1
    assert "/proc/nowhere/state" in said


def test_aliases_of_a_model_are_served_too(service: Service, ask: Ask) -> None:
    """llama.cpp lists one model, under its first name in the order of the alphabet (row 1.2)."""
    service.answers["/v1/models"] = (200, {"data": [{"id": "aid", "aliases": ["aid", "chat"]}, {"id": "x"}]})
    assert ask(service.url, "chat", "aid", "x") == (0, "")
    assert ask(service.url, "other") == (1, "/v1/models: serves aid, aid, chat, x, not other\n")


def test_waiting_ends_when_it_serves(service: Service, ask: Ask) -> None:
    service.answers["/health"] = (503, "")
    threading.Timer(0.3, service.answers.update, [{"/health": (200, "")}]).start()
    assert ask("--wait", "600", service.url) == (0, "")
    assert len(service.asked) > 1


def test_waiting_ends_when_waiting_cannot_help(service: Service, ask: Ask) -> None:
    service.answers["/v1/models"] = (200, {"data": []})
    assert ask("--wait", "600", service.url, "chat") == (1, "/v1/models: serves nothing, not chat\n")
    assert service.asked == ["GET /health", "GET /v1/models"]


def test_waiting_ends_in_time(service: Service, ask: Ask) -> None:
    service.answers["/health"] = (503, "")
    assert ask("--wait", "1", service.url)[0] == 1


def test_the_command_ignores_proxies(service: Service, scripts: Path, tmp_path: Path) -> None:
    argv = [scripts / "probe.py", "--state", tmp_path / "state", service.url, "chat"]
    done = subprocess.run(argv, env={"http_proxy": "http://127.0.0.1:9"}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("arguments", [[], ["127.0.0.1:8000"], ["https://127.0.0.1"]])
def test_wrong_usage(scripts: Path, arguments: list[str]) -> None:
    done = subprocess.run([scripts / "probe.py", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
