"""Every step of the prober: what passes, what fails, and what is skipped."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host.fleet import probe as fleet_probe
from sparkiac.host.probe import kinds, steps
from sparkiac.host.probe import metrics as probe_metrics
from sparkiac.host.probe import text as probe_text
from tests.host.probed import promise

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from tests.host.probed import Service

    Check = Callable[..., dict[str, tuple[str, str]]]

CHAT, EMBEDDINGS, RERANK = "/v1/chat/completions", "/v1/embeddings", "/v1/rerank"
SHARED = Path(__file__).parents[3] / "shared/vllm"
RECORDED = Path(__file__).parent / "data/agents_vllm_0.23.0.json"
"""Responses of vLLM 0.23.0 on a CPU with a trained tiny model, without the parts that repeat the request."""


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
        return called(ARGUMENTS[body["tools"][0]["function"]["name"]], body["tools"][0]["function"]["name"])
    if "response_format" in body:
        return choice('{"number": 371}')
    if isinstance(body["messages"][0]["content"], list):
        return choice("Red.")
    return choice(body["messages"][0]["content"][-3:], reasoning="It is a number.")


def called(arguments: object, name: str = "save_note", **more: Any) -> tuple[int, object]:  # noqa: ANN401 - JSON
    """Make the response of a server that calls a tool."""
    return choice(tool_calls=[{"function": {"name": name, "arguments": arguments}}], **{"reason": "tool_calls", **more})


def turns(body: dict[str, Any]) -> tuple[int, object]:
    """Answer as /v1/messages or /v1/responses."""
    city = {"city": "Paris"}
    thought = {"type": "thinking", "thinking": "A tool.", "signature": "x"}
    if "messages" in body:
        use = {"type": "tool_use", "id": "call-1", "name": "get_time", "input": city}
        result = {"type": "tool_result", "tool_use_id": "call-1", "content": "It is 371 minutes past noon."}
        last = body["messages"][-1]["content"]
        if isinstance(last, str):
            return 200, {"type": "message", "content": [thought, use]}
        assert (body["messages"][1]["content"], last) == ([thought, use], [result])
        return 200, {"type": "message", "content": [{"type": "text", "text": "It is 371 minutes past noon."}]}
    call = {"type": "function_call", "call_id": "call-1", "name": "get_time", "arguments": json.dumps(city)}
    result = {"type": "function_call_output", "call_id": "call-1", "output": "It is 371 minutes past noon."}
    if len(body["input"]) == 1:
        return 200, {"output": [call]}
    assert body["input"][1:] == [call, result]
    return 200, {"output": [{"type": "message", "content": [{"type": "output_text", "text": "371"}]}]}


ARGUMENTS = {"get_time": '{"city": "Paris"}', "save_note": json.dumps({"title": "371", "text": 'He said "yes".'})}
AGENTS = ["tools", "messages", "responses"]
EVERYTHING = {
    "clients": AGENTS,
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
    service.answers["/v1/messages"] = service.answers["/v1/responses"] = turns
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
    assert evidence["channel"] == "a streamed answer is content"
    assert evidence["call"] == "calls get_time"
    assert evidence["strings"] == "the arguments are JSON, and their values are strings"
    assert evidence["together"] == "two requests at once get the answers that each gets alone"
    assert evidence["marks"] == "none in the content"
    assert evidence["messages"] == evidence["responses"] == "a tool call and its result are answered"
    assert evidence["structured"] == '{"number": 371}'
    assert evidence["stream"] == "2 tokens, ends with usage and [DONE]"
    assert evidence["latency"].startswith("first token after 0.")
    assert evidence["repeated"] == "prefix cache: 50 of 100 tokens (50%) of two equal prompts"
    assert evidence["speculation"] == "30 of 40 drafted tokens accepted (75%)"


def test_one_request_after_the_other_and_not_many(good: Service, check: Check) -> None:
    check(good.url, **EVERYTHING)
    assert good.asked.count(f"POST {CHAT}") == 10
    assert sum(line.startswith("POST") for line in good.asked) == 14
    assert good.asked.index("GET /metrics") < good.asked.index(f"POST {CHAT}"), "the queue is read first"


def test_the_health_check_and_the_fleet_timer_ask_for_none_of_what_only_an_apply_asks() -> None:
    asked = {*steps.LIVE, *steps.READY, *steps.ANSWERS, *fleet_probe.STEPS}
    assert asked.isdisjoint({*steps.CLIENTS, "marks", "reasoning"})
    assert {*asked, *steps.GATE, *steps.CLIENTS} <= set(steps.ALL)


def test_steps_that_a_unit_does_not_promise_are_skipped(good: Service, check: Check) -> None:
    found = check(good.url)
    skipped = {name for name, (state, _) in found.items() if state == "skipped"}
    unpromised = {"tools", "unclosed", "call", "strings", "messages", "responses", "structured", "vision", "length"}
    assert {*unpromised, "speculation", "queue"} <= skipped
    assert found["tools"] == found["strings"] == ("skipped", "no client sends tools")
    assert found["messages"] == ("skipped", "no client uses /v1/messages")


def when(test: Callable[[dict[str, Any]], bool], answer: tuple[int, object]) -> Callable[[dict[str, Any]], Any]:
    """Answer these requests in another way."""
    return lambda body: answer if test(body) else reply(body)


def plain(body: dict[str, Any]) -> bool:
    """Return whether a request is the one for the known answer."""
    return not {"stream", "tools", "response_format"} & set(body) and isinstance(body["messages"][0]["content"], str)


def uses(tool: str) -> Callable[[dict[str, Any]], bool]:
    """Return whether a request has a tool."""
    return lambda body: "tools" in body and body["tools"][0]["function"]["name"] == tool


THOUGHT = "I call it. <tool_call>"
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
    (
        "channel",
        lambda body: "stream" in body,
        events(delta("stop", reasoning="371"), USAGE, "[DONE]"),
        f"{CHAT}: the streamed answer is in the reasoning: '371'",
    ),
    ("unclosed", uses("get_time"), choice(None, reasoning=THOUGHT), f"the tool call is in the reasoning: {THOUGHT!r}"),
    ("strings", uses("save_note"), called({"title": "371", "text": "yes"}), "are not JSON: "),
    ("tools", uses("get_time"), called({"city": "Paris"}, "get_time"), "are not JSON: "),
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


@pytest.mark.parametrize(
    ("step", "answer", "told"),
    [
        ("channel", events(delta("length", reasoning="So"), USAGE, "[DONE]"), "skipped: still reasoning after 128 "),
        ("unclosed", choice(None, reasoning=THOUGHT, reason="length"), "ok: no call in the reasoning"),
        ("unclosed", choice("It is noon.", reasoning=THOUGHT), "ok: no call in the reasoning"),
        ("tools", called('{"ci', "get_time", reason="length"), "ok: a request with tools is accepted"),
        ("strings", choice("Saved."), "skipped: no tool call"),
        ("strings", called('{"title": 37', reason="length"), "skipped: no tool call"),
        (
            "strings",
            called('{"title": "371", "text": "He said "yes"."}'),
            "warning: the arguments of the tool call are not",
        ),
        (
            "strings",
            called('{"title": 371, "text": "yes"}'),
            "warning: the tool takes strings, and the call has {'title': 371}",
        ),
        ("marks", choice("371<|im_end|>"), "warning: <|im_end|> in the content"),
        ("marks", choice("</think>371 <\uff5cend\u2581of\u2581sentence\uff5c>"), "warning: </think>, <\uff5cend"),
        ("marks", choice("371 <b>bold</b> and a <tag> | 3 <| 4 |>"), "ok: none in the content"),
    ],
)
def test_what_is_no_proof_of_a_fault(
    good: Service, check: Check, step: str, answer: tuple[int, object], told: str
) -> None:
    """max_tokens cut it, the model decided it, or clients can live with it."""
    good.answers[CHAT] = when(lambda body: step == "marks" or not plain(body), answer)
    assert told in ": ".join(check(good.url, **EVERYTHING | {"reasoning": False})[step])


class Crossed:
    """A server that answers two requests at once as `said`. Each of them waits for the other one."""

    def __init__(self, said: str, *, times: int = 3, alone: bool = True) -> None:
        """Fail so many times with two requests, and then be right when asked alone, or not."""
        self.said, self.times, self.alone = said, times, alone
        self.both, self.asked = threading.Barrier(2, timeout=60), 0

    def __call__(self, body: dict[str, Any]) -> tuple[int, object]:
        """Answer. The first plain request comes alone, and after three pairs each comes alone again."""
        if not plain(body) or len(body["messages"][0]["content"]) > 100:
            return reply(body)
        number = body["messages"][0]["content"][-3:]
        self.asked += 1
        if 1 < self.asked <= 1 + 2 * self.times:
            self.both.wait()
            return choice(self.said)
        return choice(number if self.alone or self.asked == 1 else self.said)


def test_two_requests_at_once_that_disturb_each_other(good: Service, check: Check) -> None:
    good.answers[CHAT] = Crossed("forty-two")
    wrong = "wrong answer: 'forty-two' instead of 371"
    said = f"{CHAT}: of two requests at once, one answer is wrong, 3 times; alone, both are right: {wrong}"
    assert check(good.url)["together"] == ("failed", said)


@pytest.mark.parametrize("other", [Crossed("The number is 371, and 864."), Crossed("forty-two", times=2)])
def test_other_words_or_a_fault_that_passes_are_no_fault(good: Service, check: Check, other: Crossed) -> None:
    """Batches change the last bits of numbers, and so the words of an answer, even at temperature 0."""
    good.answers[CHAT] = other
    assert check(good.url)["together"][0] == "ok"


def test_a_model_that_is_as_wrong_alone_is_not_blamed(good: Service, check: Check) -> None:
    good.answers[CHAT] = Crossed("forty-two", alone=False)
    assert check(good.url)["together"] == ("skipped", "wrong alone as well")


@pytest.mark.parametrize(
    ("path", "answer", "told"),
    [
        ("/v1/messages", (404, {"detail": "Not Found"}), "failed: /v1/messages: HTTP 404"),
        ("/v1/messages", (200, {"content": "noon"}), "failed: /v1/messages: response has no content: 'noon'"),
        (
            "/v1/messages",
            (200, {"content": [{"type": "tool_use", "input": {"city": "Paris"}}]}),
            "failed: wrong tool",
        ),
        (
            "/v1/messages",
            (200, {"content": [{"type": "tool_use", "id": "1", "input": "{}"}]}),
            "failed: wrong tool",
        ),
        (
            "/v1/messages",
            (200, {"content": [{"type": "text", "text": "Noon."}]}),
            "skipped: a request with tools is accepted, and the model calls none",
        ),
        ("/v1/responses", (200, {"output": []}), "failed: /v1/responses: response has no output: '[]'"),
        (
            "/v1/responses",
            (200, {"output": [{"type": "function_call", "call_id": "1", "arguments": {"city": "Paris"}}]}),
            "failed: wrong tool call: ",
        ),
    ],
)
def test_the_paths_of_agents(good: Service, check: Check, path: str, answer: tuple[int, object], told: str) -> None:
    good.answers[path] = answer
    assert told in ": ".join(check(good.url, clients=AGENTS)[path.rpartition("/")[2]])


@pytest.mark.parametrize(("path", "turns"), json.loads(RECORDED.read_text()).items())
def test_the_paths_of_agents_as_vllm_answers_them(good: Service, check: Check, path: str, turns: list[Any]) -> None:
    good.answers[path] = lambda body: (200, turns[len(body.get("messages") or body["input"]) > 1])
    assert check(good.url, clients=AGENTS)[path.rpartition("/")[2]] == ("ok", "a tool call and its result are answered")


def test_the_result_of_a_call_that_is_refused(good: Service, check: Check) -> None:
    good.answers["/v1/messages"] = lambda body: (500, {}) if len(body["messages"]) > 1 else turns(body)
    assert check(good.url, clients=AGENTS)["messages"] == ("failed", "/v1/messages: HTTP 500 {}")


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


def test_the_speed_is_that_of_an_answer_of_256_tokens(
    good: Service, probe: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[dict[str, Any]] = []

    def streamed(body: dict[str, Any]) -> tuple[int, object]:
        asked.append(body)
        return STREAM

    good.answers[CHAT] = streamed
    for kind, runs in (("chat", 3), ("embedding", 0)):
        asked.clear()
        unit = {"name": "sparkiac-chat", "promise": promise("sparkiac-chat", url=good.url, kind=kind)}
        (tmp_path / "generation.json").write_text(json.dumps({"units": [unit]}))
        assert probe.main(["speed", "--generation", str(tmp_path / "generation.json"), "sparkiac-chat"]) == 0
        assert (float(capsys.readouterr().out) > 0) == (runs == 3)
        assert [body["max_tokens"] for body in asked] == [256] * runs
