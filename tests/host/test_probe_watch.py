"""What the probe asks a model at first, and what it asks again later, against a small server and the stand-in."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from tests.host.probed import Ask, Service

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
RIGHT = (200, {"choices": [{"message": {"content": "371"}}]})
GARBAGE = (200, {"choices": [{"message": {"content": "!!!!"}, "finish_reason": "length"}]})
NO_TEMPLATE = (
    "As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template"
)
STANDIN = Path(__file__).parents[1] / "standin/vllm"


def refusal(message: str) -> tuple[int, object]:
    return 400, {"error": {"message": message, "type": "BadRequestError", "code": 400}}


def count(tokens: float, usage: float = 0) -> tuple[int, bytes]:
    """Give metrics as vLLM has them, with requests to the server itself, which always move."""
    lines = [
        "# TYPE vllm:generation_tokens_total counter",
        f'vllm:generation_tokens_total{{engine="0",model_name="chat"}} {tokens}',
        f'vllm:kv_cache_usage_perc{{engine="0",model_name="chat"}} {usage}',
        f'http_requests_total{{handler="/metrics"}} {os.urandom(4).hex()}',
    ]
    return 200, "\n".join(lines).encode()


class Clock:
    """A clock that a test moves."""

    now = 1_000_000.0

    def monotonic(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock(probe: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give the clock of the probe."""
    found = Clock()
    monkeypatch.setattr(probe, "time", found)
    return found


def answers_asked(service: Service) -> int:
    """Count the requests for an answer since this was asked last."""
    found = service.asked.count(f"POST {CHAT}")
    service.asked.clear()
    return found


def test_an_idle_model_is_asked_every_five_minutes(service: Service, ask: Ask, clock: Clock) -> None:
    service.answers["/metrics"] = count(7)
    asked = []
    for _ in range(40):
        assert ask(service.url, "chat") == (0, "")
        asked.append(answers_asked(service))
        clock.now += 15
    assert [index for index, times in enumerate(asked) if times] == [0, 20]
    assert max(asked) == 1


@pytest.mark.parametrize("moving", ["tokens", "usage"])
def test_a_model_that_works_is_not_asked(service: Service, ask: Ask, clock: Clock, moving: str) -> None:
    """Tokens come, or a long prompt fills the cache."""
    assert ask(service.url, "chat") == (0, "")
    assert answers_asked(service) == 1
    for step in range(60):
        service.answers["/metrics"] = count(**{"tokens": 9, moving: step + 10})
        clock.now += 15
        assert ask(service.url, "chat") == (0, "")
    assert answers_asked(service) == 0
    clock.now += 15
    assert ask(service.url, "chat") == (0, "")
    assert answers_asked(service) == 1


def test_a_hung_engine_behind_a_live_server_is_found(
    service: Service, ask: Ask, clock: Clock, probe: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    for metrics in (count(7), (404, "")):
        service.answers |= {CHAT: RIGHT, "/metrics": metrics}
        monkeypatch.setattr(probe, "ANSWER_TIMEOUT_S", 60)
        assert ask(service.url, "chat") == (0, "")
        service.answers[CHAT] = 600.0
        monkeypatch.setattr(probe, "ANSWER_TIMEOUT_S", 1)
        clock.now += 15
        assert ask(service.url, "chat") == (0, "")
        clock.now += 300
        answers_asked(service)
        for _ in range(4):
            assert ask(service.url, "chat") == (1, f"{CHAT}: no answer within 1 s\n")
            assert answers_asked(service) == 1
            clock.now += 15


def test_garbage_stays_a_failure_while_tokens_come(service: Service, ask: Ask, clock: Clock) -> None:
    assert ask(service.url, "chat") == (0, "")
    service.answers[CHAT] = GARBAGE
    clock.now += 300
    for step in range(5):
        assert ask(service.url, "chat") == (1, f"{CHAT}: one token repeated: '!!!!'\n")
        service.answers["/metrics"] = count(step)
        clock.now += 15
    service.answers[CHAT] = RIGHT
    assert ask(service.url, "chat") == (0, "")


def test_a_damaged_state_is_no_state(service: Service, ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    assert ask(service.url, "chat") == (0, "")
    assert answers_asked(service) == 1


def test_a_request_with_tools_must_be_taken(service: Service, ask: Ask) -> None:
    message = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    service.answers[CHAT] = lambda body: refusal(message) if "tools" in body else RIGHT
    assert ask(service.url, "chat") == (0, "")
    code, said = ask("--warm-up", "--tools", service.url, "chat")
    assert code == 1
    assert said.startswith(f"a request with tools is rejected: {CHAT}: HTTP 400 ")
    service.answers[CHAT] = RIGHT
    assert ask("--warm-up", "--tools", service.url, "chat") == (0, "")


@pytest.mark.parametrize("message", [NO_TEMPLATE, "tokenizer.chat_template is not set and no template was passed"])
def test_a_base_model_continues_a_text(service: Service, ask: Ask, message: str) -> None:
    """No answer is known: it may say what it likes, but no garbage."""
    service.answers[CHAT] = refusal(message)
    service.answers[COMPLETIONS] = (200, {"choices": [{"text": " six, seven, eight"}]})
    assert ask("--warm-up", service.url, "chat") == (0, "")
    for text, fault in (
        (None, "null answer"),
        ("", "empty answer"),
        ("!!!!", "one token repeated: '!!!!'"),
    ):
        service.answers[COMPLETIONS] = (200, {"choices": [{"text": text}]})
        assert ask("--warm-up", service.url, "chat") == (1, f"{COMPLETIONS}: {fault}\n")
    service.answers[COMPLETIONS] = (200, {"choices": [{"text": " six"}]})
    assert ask("--warm-up", "--tools", service.url, "chat")[0] == 1


@pytest.mark.parametrize(
    "answer", [refusal("The model does not support Chat Completions API"), (404, {"detail": "Not Found"})]
)
def test_a_model_for_embeddings_is_asked_for_no_text(service: Service, ask: Ask, answer: tuple[int, object]) -> None:
    service.answers[CHAT] = answer
    assert ask("--warm-up", service.url, "chat") == (0, "")
    assert ask("--warm-up", "--tools", service.url, "chat")[0] == 1


@pytest.mark.parametrize("answer", [(404, {"error": {"message": "The model `chat` does not exist."}}), refusal("no")])
def test_another_refusal_is_a_failure(service: Service, ask: Ask, answer: tuple[int, object]) -> None:
    service.answers[CHAT] = answer
    code, said = ask("--warm-up", service.url, "chat")
    assert (code, said.startswith(f"{CHAT}: HTTP 40")) == (1, True)


@pytest.fixture
def standin() -> Iterator[str]:
    """Run the engine stand-in as the lab runs vLLM, with a reasoning parser and tools; give its URL."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    options = ["--reasoning-parser", "qwen3", "--enable-auto-tool-choice", "--tool-call-parser", "qwen3_coder"]
    argv = [sys.executable, STANDIN, "serve", "org/chat", "--host", "127.0.0.1", "--port", str(port), *options]
    with subprocess.Popen(argv, env=os.environ | {"STANDIN_LOAD_SECONDS": "0"}, stdout=subprocess.PIPE) as process:
        assert process.stdout
        while b"startup complete" not in process.stdout.readline():
            assert process.poll() is None
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


FOUND = {
    "garbage": f"{CHAT}: one token repeated: '!!!!",
    "repeating": f"{CHAT}: one token repeated: ' the the",
    "null": f"{CHAT}: null answer",
    "empty": f"{CHAT}: empty answer",
    "wrong": f"{CHAT}: wrong answer: 'forty-two' instead of 371",
    "refuse-tools": f"a request with tools is rejected: {CHAT}: HTTP 400",
    "base": "a request with tools is rejected: ",
    "stall": f"{CHAT}: no answer within 2 s",
    "unhealthy": "/health: HTTP 503",
}


def test_what_is_found_of_an_engine(standin: str, ask: Ask, probe: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask("--warm-up", "--tools", standin, "org/chat") == (0, "")
    for behaviour, start in FOUND.items():
        told = json.dumps({"behaviour": behaviour}).encode()
        urllib.request.urlopen(f"{standin}/standin", told).close()  # noqa: S310
        monkeypatch.setattr(probe, "FIRST_ANSWER_TIMEOUT_S", 2 if behaviour == "stall" else 120)
        code, said = ask("--warm-up", "--tools", standin, "org/chat")
        assert (code, said[: len(start)]) == (1, start)
