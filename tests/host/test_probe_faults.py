"""Which caller of the prober finds which fault: the engine stand-in breaks, and each caller checks it.

`ready` is the health check at the start, `watch` the same check after a good start, `apply` the gate, and `verify` all
steps. The last two columns show what the health check prints and the first step that `verify` reports.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from sparkiac.host.probe import basic, session, text
from sparkiac.host.probe import watch as probe_watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from tests.host.probed import Ask

    Check = Callable[..., dict[str, tuple[str, str]]]

CHAT = "/v1/chat/completions"
STANDIN = Path(__file__).parents[1] / "standin/vllm"
PROMISE = {
    "models": ["org/chat"],
    "clients": ["tools", "messages", "responses"],
    "reasoning": True,
    "structured": True,
    "max_model_len": 32_768,
    "metrics": "/metrics",
}
OPTIONS = ["--reasoning-parser", "qwen3", "--enable-auto-tool-choice", "--tool-call-parser", "qwen3_coder"]


class Found(NamedTuple):
    """Who finds a fault: "x" finds it and the unit is not healthy, "alert" reports it, "" does not."""

    ready: str
    watch: str
    apply: str
    verify: str
    said: str
    step: str


FAULTS = {
    "garbage": Found("x", "alert", "x", "x", f"{CHAT}: one token repeated: '!!!!", "readable"),
    "repeating": Found("x", "alert", "x", "x", f"{CHAT}: one token repeated: ' the the", "readable"),
    "null": Found("x", "alert", "x", "x", f"{CHAT}: null answer", "content"),
    "empty": Found("x", "alert", "x", "x", f"{CHAT}: empty answer", "content"),
    "wrong": Found("x", "alert", "x", "x", f"{CHAT}: wrong answer: 'forty-two' instead of 371", "answer"),
    "refuse-tools": Found("x", "", "x", "x", f"a request with tools is rejected: {CHAT}: HTTP 400", "tools"),
    "raw-calls": Found("x", "", "x", "x", "the tool call is in the content: ", "tools"),
    "leak": Found("", "", "x", "x", "", "reasoning"),
    "reasoned": Found("", "", "x", "x", "", "reasoning"),
    "orphan": Found("", "", "x", "x", "", "reasoning"),
    "reasoned-stream": Found("", "", "x", "x", "", "channel"),
    "unclosed": Found("", "", "x", "x", "", "unclosed"),
    "broken-arguments": Found("", "", "", "", "", ""),
    "spliced": Found("", "", "", "", "", ""),
    "chat-only": Found("", "", "x", "x", "", "messages"),
    "lost-results": Found("", "", "x", "x", "", "messages"),
    "base": Found("x", "alert", "x", "x", f"{CHAT}: HTTP 400", "content"),
    "stall": Found("x", "x", "x", "x", f"{CHAT}: no answer within ", "content"),
    "slow": Found("", "", "", "x", "", "latency"),
    "hang": Found("x", "x", "x", "x", "/health: no answer within ", "health"),
    "unhealthy": Found("x", "x", "x", "x", "/health: HTTP 503", "health"),
    "crash": Found("x", "x", "x", "x", "/health: ", "health"),
    "kv-full": Found("x", "x", "x", "x", "0 requests running, 5 waiting, KV cache use 100%", "queue"),
}


class Engine(NamedTuple):
    """A stand-in that runs."""

    url: str
    process: subprocess.Popen[bytes]

    def become(self, behaviour: str) -> None:
        """Change how it behaves."""
        told = json.dumps({"behaviour": behaviour, "seconds": 0.5}).encode()
        try:
            urllib.request.urlopen(f"{self.url}/standin", told).close()  # noqa: S310
        except OSError:
            assert behaviour == "crash"
        if behaviour == "crash":
            self.process.wait()


@pytest.fixture
def engine() -> Iterator[Engine]:
    """Run the stand-in as the lab runs vLLM, with a reasoning parser and tools."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    argv = [sys.executable, STANDIN, "serve", "org/chat", "--host", "127.0.0.1", "--port", str(port), *OPTIONS]
    with subprocess.Popen(argv, env=os.environ | {"STANDIN_LOAD_SECONDS": "0"}, stdout=subprocess.PIPE) as process:
        assert process.stdout
        while b"startup complete" not in process.stdout.readline():
            assert process.poll() is None
        try:
            yield Engine(f"http://127.0.0.1:{port}", process)
        finally:
            process.kill()


class Clock:
    """A clock that a test moves."""

    now = 1_000_000.0

    def monotonic(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock(patience: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock of the watchdog."""
    assert patience
    found = Clock()
    monkeypatch.setattr(probe_watch, "time", found)
    return found


def shorten(monkeypatch: pytest.MonkeyPatch, behaviour: str) -> None:
    """Shorten the limits that a behaviour exceeds; a busy machine has time for the others."""
    watching = probe_watch
    limits = {
        "stall": [(session, "ANSWER_TIMEOUT_S"), (watching, "ANSWER_TIMEOUT_S"), (watching, "FIRST_ANSWERS_S")],
        "hang": [(session, "HEALTH_TIMEOUT_S"), (basic, "HEALTH_TIMEOUT_S")],
        "slow": [(text, "FIRST_TOKEN_S")],
    }
    for module, name in limits.get(behaviour, ()):
        monkeypatch.setattr(module, name, 0.5)


@pytest.mark.parametrize("behaviour", FAULTS)
def test_at_the_start(
    engine: Engine, watch: Ask, clock: Clock, monkeypatch: pytest.MonkeyPatch, behaviour: str
) -> None:
    shorten(monkeypatch, behaviour)
    engine.become(behaviour)
    clock.now += 1
    code, said = watch(engine.url, **PROMISE)
    assert "x" * code == FAULTS[behaviour].ready
    assert FAULTS[behaviour].said in said


@pytest.mark.parametrize("behaviour", FAULTS)
def test_after_a_good_start(
    engine: Engine, watch: Ask, clock: Clock, monkeypatch: pytest.MonkeyPatch, behaviour: str
) -> None:
    """The next answer is requested after five minutes; a full KV cache is a hang after another minute."""
    assert watch(engine.url, **PROMISE) == (0, "")
    shorten(monkeypatch, behaviour)
    engine.become(behaviour)
    found = []
    for step in (300, 61, 15, 15):
        clock.now += step
        found.append(watch(engine.url, **PROMISE))
    codes, said = {code for code, _ in found[1:]}, found[-1][1]
    wanted = FAULTS[behaviour].watch
    assert codes == {int(wanted == "x")}
    assert ("sparkiac-alert: " in said) == (wanted == "alert")
    assert FAULTS[behaviour].said in said or behaviour in {"stall", *(["refuse-tools", "raw-calls"])}
    if wanted == "alert":
        clock.now += 3600
        assert watch(engine.url, **PROMISE)[0] == 1, "after an hour it restarts"


@pytest.mark.parametrize("behaviour", FAULTS)
def test_at_an_apply_and_at_verify(
    engine: Engine, check: Check, clock: Clock, monkeypatch: pytest.MonkeyPatch, behaviour: str
) -> None:
    assert clock
    shorten(monkeypatch, behaviour)
    engine.become(behaviour)
    wanted, answer_s = FAULTS[behaviour], 1 if behaviour == "stall" else 120
    for level, verdict in ((), wanted.apply), (("--all",), wanted.verify):
        found = check(engine.url, *level, "--queue", "1", answer_s=answer_s, **PROMISE)
        failed = [name for name, (state, _) in found.items() if state == "failed"]
        assert bool(failed) == (verdict == "x"), found
        assert failed[:1] == ([wanted.step] if verdict else [])


def test_a_healthy_one(engine: Engine, watch: Ask, check: Check) -> None:
    assert watch(engine.url, **PROMISE) == (0, "")
    assert [name for name, (state, _) in check(engine.url, **PROMISE).items() if state == "failed"] == []


def test_tokens_of_a_prompt_in_an_answer_are_a_warning(engine: Engine, check: Check) -> None:
    engine.become("spliced")
    found = check(engine.url, **PROMISE)
    told = "<|im_end|> in the content: clients show it, and send it back in the next turn"
    assert {name: result for name, result in found.items() if result[0] == "warning"} == {"marks": ("warning", told)}
