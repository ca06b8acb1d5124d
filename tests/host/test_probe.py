"""The health check of a container and the steps of an apply, against a small server that behaves as a test says."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from sparkiac.host.probe import basic as probe_basic
from sparkiac.host.probe import watch as probe_watch
from tests.host.probed import promise

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from tests.host.probed import Ask, Service

KEY = "s3cret"
CHAT = "/v1/chat/completions"


def test_it_serves_and_gets_one_test_request(service: Service, watch: Ask) -> None:
    """Before the first clients come, so that their first answer is not slow."""
    assert watch(service.url, models=["chat", "fast"]) == (0, "")
    assert service.asked == ["GET /health", "GET /v1/models", f"POST {CHAT}"]
    service.asked.clear()
    assert watch(service.url) == (0, "")
    assert service.asked == ["GET /health", "GET /v1/models"]


def test_it_is_not_ready_before_a_slow_first_answer_has_ended(service: Service, watch: Ask) -> None:
    """The first answer compiles kernels."""
    right = (200, {"choices": [{"message": {"content": "371"}}]})
    service.answers[CHAT] = lambda _: (time.sleep(0.2), right)[1]
    began = time.monotonic()
    assert watch(service.url) == (0, "")
    assert time.monotonic() - began >= 0.2


def test_without_models_health_alone_counts(service: Service, watch: Ask) -> None:
    assert watch(service.url, models=[], kind="service") == (0, "")
    assert service.asked == ["GET /health"]
    service.asked.clear()
    assert watch(service.url, models=[], kind="service", health=None) == (0, "")
    assert service.asked == []


def test_the_url_may_have_a_path(service: Service, watch: Ask) -> None:
    service.answers["/api/health"] = (200, "")
    assert watch(service.url + "/api/", models=[]) == (0, "")


ENDED = ", 3 times in a row: the server is ended"


@pytest.mark.parametrize(
    ("path", "answer", "reason"),
    [
        ("/health", (503, "loading"), '/health: HTTP 503 "loading"'),
        ("/v1/models", (200, {"data": [{"id": "x"}]}), "sparkiac-alert: /v1/models: serves x, not chat"),
        ("/v1/models", (200, {}), "sparkiac-alert: /v1/models: serves nothing, not chat"),
        ("/v1/models", (200, [1]), "sparkiac-alert: /v1/models: response is not a JSON object: b'[1]'"),
        (CHAT, (500, "no"), f'{CHAT}: HTTP 500 "no"'),
        (CHAT, (400, "no"), f'sparkiac-alert: {CHAT}: HTTP 400 "no"{ENDED}'),
        (CHAT, (200, {}), f"sparkiac-alert: {CHAT}: response has no choices{ENDED}"),
        (CHAT, (200, {"choices": []}), f"sparkiac-alert: {CHAT}: response has no choices{ENDED}"),
        (CHAT, (200, {"choices": [{"message": None}]}), f"sparkiac-alert: {CHAT}: null answer{ENDED}"),
    ],
)
def test_one_line_says_why_not(
    service: Service, watch: Ask, path: str, answer: tuple[int, object], reason: str
) -> None:
    service.answers[path] = answer
    assert watch(service.url) == (1, reason + "\n")


@pytest.mark.parametrize(
    ("path", "time_limit"),
    [("/health", (probe_basic, "HEALTH_TIMEOUT_S")), (CHAT, (probe_watch, "FIRST_ANSWERS_S"))],
)
def test_a_hang_has_an_end(
    service: Service, watch: Ask, monkeypatch: pytest.MonkeyPatch, path: str, time_limit: tuple[ModuleType, str]
) -> None:
    monkeypatch.setattr(*time_limit, 1)
    service.answers[path] = 600.0
    assert watch(service.url) == (1, f"{path}: no answer within 1 s\n")


def test_no_server_listens(watch: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    found = watch(f"http://127.0.0.1:{port}")
    assert found == (1, "/health: ConnectionRefusedError(111, 'Connection refused')\n")


def test_the_key_is_sent_from_its_file(service: Service, watch: Ask, tmp_path: Path) -> None:
    service.authorization = f"Bearer {KEY}"
    code, said = watch(service.url)
    assert code == 1
    assert "/v1/models: HTTP 401" in said
    (tmp_path / "key").write_text(KEY + "\n")
    assert watch(service.url) == (0, "")
    (tmp_path / "key").write_text("wrong-canary\n")
    code, said = watch(service.url)
    assert code == 1
    assert "canary" not in said


def test_a_state_that_cannot_be_kept_is_not_passed_over(service: Service, probe: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "promise.json").write_text(json.dumps(promise("sparkiac-chat", models=["chat"])))
    argv = ["watch", str(tmp_path / "promise.json"), "--at", service.url, "--state", "/proc/nowhere/state"]
    assert probe.main(argv) == 1


def test_aliases_of_a_model_are_served_too(service: Service, watch: Ask) -> None:
    """llama.cpp lists one model, under its first name in the order of the alphabet."""
    service.answers["/v1/models"] = (200, {"data": [{"id": "aid", "aliases": ["aid", "chat"]}, {"id": "x"}]})
    assert watch(service.url, models=["chat", "aid", "x"]) == (0, "")
    code, said = watch(service.url, models=["other"])
    assert (code, said) == (1, "sparkiac-alert: /v1/models: serves aid, aid, chat, x, not other\n")


def test_a_promise_of_another_version_is_refused(service: Service, watch: Ask) -> None:
    code, said = watch(service.url, surprise=True)
    assert code == 1
    assert "this probe does not know surprise: generate and apply again" in said


def generation(tmp_path: Path, url: str | None, **promised: object) -> list[str]:
    """Write generation.json with the unit sparkiac-chat; return the arguments that name it."""
    wanted = promise("sparkiac-chat", models=["chat"], url=url) | promised
    units = [{"name": "sparkiac-chat", "promise": wanted}, {"name": "sparkiac-quiet", "promise": None}]
    (tmp_path / "generation.json").write_text(json.dumps({"units": units}))
    return ["check", "--generation", str(tmp_path / "generation.json"), "--secrets", str(tmp_path)]


def test_a_unit_of_the_generation_is_checked_with_its_key(
    service: Service, probe: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service.authorization = f"Bearer {KEY}"
    (tmp_path / "team_key").write_text(KEY)
    argv = generation(tmp_path, service.url, api_key="team_key")
    assert probe.main([*argv, "sparkiac-chat"]) == 0
    assert probe.main([*argv, "sparkiac-quiet"]) == 0, "it promises nothing"
    (tmp_path / "team_key").write_text("wrong-canary")
    assert probe.main([*argv, "sparkiac-chat"]) == 1
    assert probe.main([*argv, "sparkiac-other"]) == 1
    said = capsys.readouterr().err
    assert "has no unit sparkiac-other; it has sparkiac-chat, sparkiac-quiet" in said
    assert "canary" not in said


def test_waiting_ends_when_it_serves(service: Service, patience: ModuleType, tmp_path: Path) -> None:
    service.answers["/health"] = (503, "")
    threading.Timer(0.3, service.answers.update, [{"/health": (200, "")}]).start()
    assert patience.main([*generation(tmp_path, service.url), "--wait", "600", "sparkiac-chat"]) == 0
    assert service.asked.count("GET /health") > 1


def test_waiting_ends_when_waiting_cannot_help(service: Service, probe: ModuleType, tmp_path: Path) -> None:
    service.answers["/v1/models"] = (200, {"data": []})
    assert probe.main([*generation(tmp_path, service.url), "--wait", "600", "sparkiac-chat"]) == 1
    assert service.asked == ["GET /health", "GET /v1/models"]


def test_waiting_ends_in_time(service: Service, patience: ModuleType, tmp_path: Path) -> None:
    service.answers["/health"] = (503, "")
    assert patience.main([*generation(tmp_path, service.url), "--wait", "1", "sparkiac-chat"]) == 1


def test_an_agent_is_not_asked_to_answer(service: Service, probe: ModuleType, tmp_path: Path) -> None:
    """An answer of an agent is a whole turn with its tools; that it lists itself to who has the key is enough."""
    assert probe.main([*generation(tmp_path, service.url, kind="service"), "sparkiac-chat"]) == 0
    assert service.asked == ["GET /health", "GET /v1/models"]


def test_live_steps_request_no_answer(
    service: Service, probe: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert probe.main([*generation(tmp_path, service.url), "--live", "--format", "json", "sparkiac-chat"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert [(step["name"], step["state"]) for step in steps] == [
        ("health", "ok"), ("ranks", "skipped"), ("names", "ok"),
    ]  # fmt: skip
    assert service.asked == ["GET /health", "GET /v1/models"]


def test_the_command_ignores_proxies(service: Service, scripts: Path, tmp_path: Path) -> None:
    argv = [scripts / "probe.py", *generation(tmp_path, service.url), "sparkiac-chat"]
    done = subprocess.run(argv, env={"http_proxy": "http://127.0.0.1:9"}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_key_on_standard_input_is_shown_nowhere(
    service: Service, probe: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service.authorization = f"Bearer {KEY}"
    text = json.dumps({"promise": promise("sparkiac-chat", models=["chat"], url=service.url), "key": KEY})
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert probe.main(["check", "--all", "--format", "json"]) == 1, "it streams nothing"
    assert KEY not in capsys.readouterr().out
    assert f"POST {CHAT}" in service.asked


@pytest.mark.parametrize(
    "arguments", [[], ["watch"], ["ask", "x"], ["check", "a", "b"], ["check", "--all", "--live", "a"]]
)
def test_wrong_usage(scripts: Path, arguments: list[str]) -> None:
    done = subprocess.run([scripts / "probe.py", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
