"""Every step of the prober: what passes, what fails, and what is skipped."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host.probe import kinds
from sparkiac.host.probe import metrics as probe_metrics
from sparkiac.host.probe import text as probe_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from tests.host.probed import Service

    Check = Callable[..., dict[str, tuple[str, str]]]

CHAT, EMBEDDINGS, RERANK = "/v1/chat/completions", "/v1/embeddings", "/v1/rerank"
SHARED = Path(__file__).parents[3] / "shared/vllm"


def choice(content: object = None, *, reason: str = "stop", **more: object) -> tuple[int, object]:
    """Make the response of a chat server."""
    message = {"role": "assistant", "content": content, **more}
    return 200, {"choices": [{"message": message, "finish_reason": reason}]}


def events(*lines: object) -> tuple[int, bytes]:
    """Make a stream; a text is sent as it is."""
    texts = (each if isinstance(each, str) else json.dumps(each) for each in lines)
    return 200, "".join(f"data: {each}\n\n" for each in texts).encode()


def delta(reason: str | None = None, **parts: object) -> dict[str, Any]:
    """Make an event of a stream."""
    return {"choices": [{"delta": parts, "finish_reason": reason}]}


USAGE = {"choices": [], "usage": {"completion_tokens": 2}}
STREAM = events(delta(role="assistant"), delta(content="3"), delta("stop", content="71"), USAGE, "[DONE]")


def reply(body: dict[str, Any]) -> tuple[int, object]:
    """Answer as a server that keeps every promise."""
    if body.get("stream"):
        return STREAM
    if "tools" in body:
        function = {"name": "get_time", "arguments": '{"city": "Paris"}'}
        return choice(tool_calls=[{"function": function}], reason="tool_calls")
    if "response_format" in body:
        return choice('{"number": 371}')
    if isinstance(body["messages"][0]["content"], list):
        return choice("Red.")
    return choice("371", reasoning="It is a number.")


EVERYTHING = {
    "clients": ["tools"],
    "reasoning": True,
    "structured": True,
    "vision": True,
    "max_model_len": 4096,
    "speculative": True,
    "metrics": "/metrics",
}


@pytest.fixture
def good(service: Service) -> Service:
    """Run a server that keeps every promise."""
    grown = {"count": 0}

    def metrics() -> bytes:
        grown["count"] += 1
        values = {"generation_tokens_total": 9, "num_requests_waiting": 0, "num_requests_running": 0}
        values |= {"prefix_cache_queries_total": 100 * grown["count"], "prefix_cache_hits_total": 50 * grown["count"]}
        values |= {"spec_decode_num_draft_tokens_total": 40 * grown["count"]}
        values |= {"spec_decode_num_accepted_tokens_total": 30 * grown["count"]}
        return "".join(f'vllm:{name}{{engine="0"}} {value}\n' for name, value in values.items()).encode()

    service.answers[CHAT] = reply
    service.answers["/metrics"] = lambda _: (200, metrics())
    service.answers["/v1/models"] = (200, {"data": [{"id": "chat", "max_model_len": 4096}]})
    return service


def test_a_server_that_keeps_every_promise(good: Service, check: Check) -> None:
    found = check(good.url, **EVERYTHING)
    assert [name for name, (state, _) in found.items() if state == "failed"] == []
    skipped = {name for name, (state, _) in found.items() if state == "skipped"}
    assert skipped == {"ranks", "embeddings", "scores", "transcription", "speech"}
    evidence = {name: text for name, (_, text) in found.items()}
    assert evidence["health"] == "/health returns 200"
    assert evidence["length"] == "4096 tokens"
    assert evidence["queue"] == "0 requests running, 0 waiting, KV cache use 0%"
    assert evidence["reasoning"] == "separated"
    assert evidence["call"] == "calls get_time"
    assert evidence["structured"] == '{"number": 371}'
    assert evidence["stream"] == "2 tokens, ends with usage and [DONE]"
    assert evidence["latency"].startswith("first token after 0.")
    assert evidence["repeated"] == "prefix cache: 50 of 100 tokens (50%) of two equal prompts"
    assert evidence["speculation"] == "30 of 40 drafted tokens accepted (75%)"


def test_one_request_after_the_other_and_not_many(good: Service, check: Check) -> None:
    check(good.url, **EVERYTHING)
    assert good.asked.count(f"POST {CHAT}") == 7
    assert good.asked.index("GET /metrics") < good.asked.index(f"POST {CHAT}"), "the queue is read first"


def test_steps_that_a_unit_does_not_promise_are_skipped(good: Service, check: Check) -> None:
    found = check(good.url)
    skipped = {name for name, (state, _) in found.items() if state == "skipped"}
    assert {"tools", "call", "reasoning", "structured", "vision", "length", "speculation", "queue"} <= skipped
    assert found["tools"] == ("skipped", "no client sends tools")


def when(test: Callable[[dict[str, Any]], bool], answer: tuple[int, object]) -> Callable[[dict[str, Any]], Any]:
    """Answer these requests in another way."""
    return lambda body: answer if test(body) else reply(body)


def plain(body: dict[str, Any]) -> bool:
    """Return whether a request is the one for the known answer."""
    return not {"stream", "tools", "response_format"} & set(body) and isinstance(body["messages"][0]["content"], str)


FAULTS = [
    ("content", plain, choice(None), f"{CHAT}: null answer"),
    ("content", plain, choice(""), f"{CHAT}: empty answer"),
    ("readable", plain, choice("!!!!"), f"{CHAT}: one token repeated: '!!!!'"),
    ("answer", plain, choice("forty-two"), f"{CHAT}: wrong answer: 'forty-two' instead of 371"),
    ("reasoning", plain, choice("<think>It is</think>371"), "reasoning in the content: '<think>It is</think>371'"),
    (
        "reasoning",
        plain,
        choice(None, reasoning="371"),
        "the whole answer is in the reasoning, and the content is empty",
    ),
    ("tools", lambda body: "tools" in body, (400, {"error": "no"}), "a request with tools is rejected: "),
    (
        "tools",
        lambda body: "tools" in body,
        choice('<tool_call>{"name": "get_time"}</tool_call>'),
        "the tool call is in the content: ",
    ),
    (
        "tools",
        lambda body: "tools" in body,
        choice(tool_calls=[{"function": {"name": "get_time", "arguments": "{"}}]),
        "the arguments of the tool call are not JSON: ",
    ),
    ("call", lambda body: "tools" in body, choice("It is noon."), "no tool call: 'It is noon.'"),
    ("structured", lambda body: "response_format" in body, choice("371"), "not of the requested schema: '371'"),
    ("structured", lambda body: "response_format" in body, choice("So {"), "not JSON: 'So {'"),
    ("stream", lambda body: "stream" in body, events(delta("stop", content="371"), USAGE), "without [DONE]"),
    (
        "stream",
        lambda body: "stream" in body,
        events(delta("stop", content="371"), "[DONE]"),
        "the stream has no usage",
    ),
    ("stream", lambda body: "stream" in body, events(delta(content="371"), USAGE, "[DONE]"), "has no finish_reason"),
    ("stream", lambda body: "stream" in body, events(delta("stop"), USAGE, "[DONE]"), "empty answer"),
    (
        "vision",
        lambda body: not isinstance(body["messages"][0]["content"], str),
        choice("Blue"),
        "wrong colour of a red picture: 'Blue'",
    ),
    (
        "repeated",
        lambda body: plain(body) and len(body["messages"][0]["content"]) > 100,
        choice("!!!!"),
        f"{CHAT}: a long prompt: one token repeated: '!!!!'",
    ),
]


@pytest.mark.parametrize(("step", "test", "answer", "evidence"), FAULTS)
def test_what_fails_a_step(good: Service, check: Check, step: str, test: Any, answer: Any, evidence: str) -> None:  # noqa: ANN401, PLR0913, PLR0917
    good.answers[CHAT] = when(test, answer)
    found = check(good.url, **EVERYTHING)
    assert found[step][0] == "failed", found
    assert evidence in found[step][1]
    assert found["health"][0] == "ok"


def test_the_length_must_be_the_promised_one(good: Service, check: Check) -> None:
    assert check(good.url, max_model_len=8192)["length"] == ("failed", "max_model_len is 4096 instead of 8192")


def test_a_reasoning_that_is_cut_is_requested_again(good: Service, check: Check) -> None:
    def cut(body: dict[str, Any]) -> tuple[int, object]:
        return (
            choice("371", reasoning="So") if body["max_tokens"] > 500 else choice(None, reasoning="So", reason="length")
        )

    good.answers[CHAT] = cut
    found = check(good.url, reasoning=True)
    assert found["answer"] == ("ok", "not wrong: still reasoning after 128 tokens")
    assert found["reasoning"] == ("ok", "separated")


def test_a_slow_first_token(good: Service, check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_text, "FIRST_TOKEN_S", 0)
    state, evidence = check(good.url)["latency"]
    assert (state, evidence.endswith("the limit is 0 s")) == ("failed", True)


def metrics_with(**values: float) -> tuple[int, bytes]:
    """Make metrics that do not move."""
    return 200, "".join(f'vllm:{name}{{engine="0"}} {value}\n' for name, value in values.items()).encode()


def test_while_requests_wait_no_answer_is_requested(good: Service, check: Check) -> None:
    good.answers["/metrics"] = metrics_with(generation_tokens_total=9, num_requests_waiting=3, kv_cache_usage_perc=1)
    found = check(good.url, **EVERYTHING)
    assert found["queue"] == ("skipped", "0 requests running, 3 waiting, KV cache use 100%")
    assert found["content"] == ("skipped", "not requested: 0 requests running, 3 waiting, KV cache use 100%")
    assert not any(line.startswith("POST") for line in good.asked)


def test_a_queue_that_does_not_move_is_a_failure(good: Service, check: Check) -> None:
    good.answers["/metrics"] = metrics_with(generation_tokens_total=9, num_requests_waiting=3, kv_cache_usage_perc=1)
    found = check(good.url, "--all", "--queue", "1", **EVERYTHING)
    assert found["queue"] == ("failed", "0 requests running, 3 waiting, KV cache use 100%, and no token for 1 s")


def test_after_a_failure_of_the_names_no_answer_is_requested(good: Service, check: Check) -> None:
    found = check(good.url, models=["other"])
    assert found["names"][0] == "failed"
    assert found["content"] == ("skipped", "not requested after the failure of names")
    assert not any(line.startswith("POST") for line in good.asked)


def test_drafts_that_are_never_accepted(good: Service, check: Check) -> None:
    drafted = iter(range(0, 10_000, 30))
    name = "spec_decode_num_draft_tokens_total"

    def metrics(_: object) -> tuple[int, bytes]:
        return metrics_with(spec_decode_num_accepted_tokens_total=7, generation_tokens_total=9, **{name: next(drafted)})

    good.answers["/metrics"] = metrics
    found = check(good.url, metrics="/metrics", speculative=True)
    assert found["speculation"] == ("failed", "none of 30 drafted tokens was accepted")
    assert found["repeated"][1] == "two equal long prompts are answered; the server reports no prefix cache"


def vectors(*rows: object) -> tuple[int, object]:
    """Make the response of an embedding server."""
    return 200, {"data": [{"embedding": row} for row in rows]}


@pytest.mark.parametrize(
    ("answer", "state", "evidence"),
    [
        (vectors([0.1, 0.2], [0.3, 0.1]), "ok", "2 vectors with 2 dimensions"),
        (vectors([0.1, 0.2, 0.3], [0.3, 0.1, 0.2]), "failed", "3 dimensions instead of 2"),
        (vectors([0.1, 0.2]), "failed", "1 vectors for 2 texts"),
        (vectors([0.1, 0.2], None), "failed", "1 vectors for 2 texts"),
        (vectors([0.1, math.nan], [0.3, 0.1]), "failed", "a vector has values that are not numbers (NaN or infinite)"),
        (vectors([0.5, 0.5], [0.3, 0.1]), "failed", "all values of a vector are equal"),
        (vectors([0.1, 0.2], [0.1, 0.2]), "failed", "different texts have the same vector"),
        ((200, {}), "failed", "0 vectors for 2 texts"),
        ((404, {"detail": "Not Found"}), "failed", f'{EMBEDDINGS}: HTTP 404 {{"detail": "Not Found"}}'),
    ],
)
def test_embeddings(service: Service, check: Check, answer: tuple[int, object], state: str, evidence: str) -> None:
    service.answers[EMBEDDINGS] = answer
    found = check(service.url, kind="embedding", dimensions=2)
    assert found["embeddings"][0] == state
    assert evidence in found["embeddings"][1]
    assert found["content"] == ("skipped", "not for this kind of server (embedding)")


def test_a_classifier_is_checked_for_health_and_names(service: Service, check: Check) -> None:
    found = check(service.url, kind="pooling")
    assert {name for name, (state, _) in found.items() if state == "ok"} == {"health", "names"}
    assert found["scores"] == ("skipped", "the server ranks no texts: HTTP 404")
    assert [line for line in service.asked if line.startswith("POST")] == [f"POST {RERANK}"]


@pytest.mark.parametrize(
    ("scores", "state", "evidence"),
    [
        ((0.75, 0.25), "ok", "scores [0.75, 0.25]"),
        ((0.5, 0.5), "failed", f"{RERANK}: scores of two texts: [0.5, 0.5]"),
        ((0.5, math.nan), "failed", f"{RERANK}: scores of two texts: [0.5, nan]"),
        ((0.5, None), "failed", f"{RERANK}: scores of two texts: [0.5, None]"),
        ((0.5,), "failed", f"{RERANK}: scores of two texts: [0.5]"),
    ],
)
def test_scores(service: Service, check: Check, scores: tuple[object, ...], state: str, evidence: str) -> None:
    service.answers[RERANK] = 200, {"results": [{"relevance_score": each} for each in scores]}
    assert check(service.url, kind="pooling")["scores"] == (state, evidence)


@pytest.mark.parametrize(
    ("kind", "path"), [("transcription", "/v1/audio/transcriptions"), ("speech", "/v1/audio/speech")]
)
def test_speech(service: Service, check: Check, kind: str, path: str) -> None:
    service.answers[path] = (200, {"text": "beep"} if kind == "transcription" else b"RIFF" * 100)
    assert check(service.url, kind=kind, models=[])[kind][0] == "ok"
    service.answers[path] = (200, {} if kind == "transcription" else b"")
    assert check(service.url, kind=kind, models=[])[kind][0] == "failed"
    del service.answers[path]
    state, evidence = check(service.url, kind=kind, models=[])[kind]
    assert (state, evidence.startswith(f"the API of this service is not known: {path}: HTTP 404")) == ("skipped", True)
    assert check(service.url, kind=kind, models=["chat"])[kind][0] == "failed", "a deployment has this API"


def test_a_worker_is_asked_nothing(check: Check) -> None:
    found = check(None, kind="worker", models=[], health=None)
    assert {state for state, _ in found.values()} == {"skipped"}


def test_pictures_and_sounds_are_what_they_say(probe: ModuleType) -> None:
    assert probe
    media = kinds
    picture = media.picture()
    assert picture.startswith("data:image/png;base64,iVBORw0KGgo")
    assert media.sound().startswith(b"RIFF")
    body, content_type = media.form({"model": "m"}, b"RIFF")
    assert content_type.partition("boundary=")[2].encode() in body
    assert len(picture) < 1000


@pytest.mark.parametrize(
    "name", ["metrics_0.15.1", "metrics_0.17.1", "metrics_0.19.0", "metrics_0.23.0", "metrics_0.32.0"]
)
def test_metrics_of_real_servers(probe: ModuleType, name: str) -> None:
    file = SHARED / f"{name}.txt"
    if not file.exists():
        pytest.skip("the recorded pages are not here")
    assert probe
    load = probe_metrics.load_of(file.read_text())
    assert load is not None
    assert (load.running, load.waiting, "generation_tokens_total" in load.counters) == (0, 0, True)


@pytest.mark.parametrize("name", ["stream_0.15.1", "stream_0.17.1", "stream_0.19.0", "stream_0.23.0"])
def test_streams_of_real_servers(service: Service, check: Check, name: str) -> None:
    """They ran random weights, so that only the text is wrong."""
    file = SHARED / f"{name}.txt"
    if not file.exists():
        pytest.skip("the recorded pages are not here")
    service.answers[CHAT] = lambda body: (200, file.read_bytes()) if body.get("stream") else choice("371")
    state, evidence = check(service.url)["stream"]
    assert "[DONE]" not in evidence or state == "ok", evidence
    assert "usage" not in evidence or state == "ok", evidence
