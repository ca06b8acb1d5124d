"""The client: what it makes of the streams of several releases, and what fails."""

from __future__ import annotations

import json
import math
import threading
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.bench import client, summary, target
from sparkiac.bench.client import ApiEndpoint, Chat
from sparkiac.model.bench import BenchRecord, BenchSubject, PointRecord, RoundRecord
from sparkiac.upstream.streaming import ServerError, ServerRequest, StoppedError, fetch, stream
from tests.host.probed import Service
from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "canary-of-a-key"
ROLE: dict[str, Any] = {"role": "assistant", "content": ""}
USAGE = {"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 4}}
COMPLETIONS = "/v1/chat/completions"


@pytest.fixture
def server() -> Iterator[Service]:
    with serving(Service()) as found:
        found.authorization = f"Bearer {KEY}"
        yield found


def events(*listed: object) -> bytes:
    """Return a stream of these events."""
    return b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in listed) + b"data: [DONE]\n\n"


def delta(**parts: object) -> dict[str, Any]:
    return {"choices": [{"delta": parts, "finish_reason": None}]}


def measured(server: Service, answer: object, thinking: bool | None = None) -> client.Sample:  # noqa: FBT001
    asked: list[dict[str, Any]] = []

    def reply(body: dict[str, Any]) -> tuple[int, object]:
        asked.append(body)
        return answer if isinstance(answer, tuple) else (200, answer)

    server.answers[COMPLETIONS] = reply
    endpoint = ApiEndpoint(server.url, "m", KEY)
    found = client.measure(endpoint, Chat("secret prompt", 4, thinking), threading.Event())
    [body] = asked
    assert (body["ignore_eos"], body["min_tokens"], body["max_tokens"], body["temperature"]) == (True, 4, 4, 0)
    assert body["stream_options"] == {"include_usage": True}
    assert body.get("chat_template_kwargs") == (None if thinking is None else {"enable_thinking": thinking})
    return found


@pytest.mark.parametrize(
    ("texts", "reasoning"),
    [
        ([{"content": "a"}, {"content": "b"}], 0),
        ([{"reasoning": "a"}, {"reasoning": "b"}, {"content": "c"}], 2),  # since 0.17
        ([{"content": "", "reasoning_content": "a"}, {"content": "b", "reasoning_content": None}], 1),  # 0.15
        ([{"content": ""}, {"content": "b"}], 1),  # a token whose text is held back counts as a token
    ],
)
def test_reasoning_counts_and_the_role_does_not(server: Service, texts: list[dict[str, Any]], reasoning: int) -> None:
    found = measured(server, events(delta(**ROLE), *(delta(**text) for text in texts), USAGE))
    assert found.error is None
    assert 1 <= found.parts <= len(texts)  # tokens that arrive together are one part
    assert found.reasoning_parts == reasoning
    assert (found.prompt_tokens, found.output_tokens) == (12, 4)
    assert 0 < found.ttft_s <= found.total_s


@pytest.mark.parametrize("thinking", [True, False])
def test_thinking_is_turned_on_or_off(server: Service, thinking: bool) -> None:  # noqa: FBT001
    assert measured(server, events(delta(content="a"), USAGE), thinking).error is None


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (events(delta(**ROLE), USAGE), "4 generated tokens were not streamed: a reasoning parser holds them back"),
        (events(delta(**ROLE)), "the server generated no token"),
        (events(delta(content="a")), "the server sent no usage"),
        (events({"error": {"message": "out of memory"}}), "the server sent an error instead of a token"),
        (b"data: {oops\n\n", "an event of the stream: unexpected output, at the line: '{oops'"),
        ((400, {"error": {"message": "too \x1b[2J long"}}), "HTTP 400: too \\x1b[2J long"),
        ((503, b""), "HTTP 503: no message"),
    ],
)
def test_failures_have_a_reason(server: Service, answer: object, error: str) -> None:
    found = measured(server, answer)
    assert found.error is not None
    assert found.error.startswith(error)
    assert KEY not in found.error


def test_no_server_no_answer_and_no_http(server: Service) -> None:
    for url, reason in (
        ("http://127.0.0.1:1", "127.0.0.1:1: Connection refused"),
        (f"{server.url}/nothing", 'HTTP 404: {"detail": "Not Found"}'),
    ):
        with pytest.raises(ServerError) as raised:
            fetch(ServerRequest(url, KEY))
        assert str(raised.value) == reason
    server.answers["/v1/models"] = 3600.0
    with pytest.raises(ServerError, match=r"no response within 0\.2 s"):
        fetch(ServerRequest(f"{server.url}/v1/models", KEY, timeout_s=0.2))


def test_a_request_is_ended_by_its_caller(server: Service) -> None:
    server.answers[COMPLETIONS] = (200, events(delta(content="a"), USAGE))
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(StoppedError):
        list(stream(ServerRequest(f"{server.url}{COMPLETIONS}", KEY, {}), stopped, math.inf))
    with pytest.raises(StoppedError):
        list(stream(ServerRequest(f"{server.url}{COMPLETIONS}", KEY, {}), threading.Event(), 0))


@pytest.mark.parametrize("body", [b"[]", b"{", {"data": [{"max_model_len": 5}]}, {"data": 7}])
def test_a_list_of_models_that_is_none(server: Service, body: object) -> None:
    server.answers["/v1/models"] = (200, body)
    with pytest.raises(ServerError, match="not a list of models"):
        client.models(server.url, KEY)


def test_a_server_without_models_and_one_without_the_chosen_model(server: Service) -> None:
    server.answers["/v1/models"] = (200, {"data": []})
    with pytest.raises(ServerError, match=r"serves no model$"):
        target.of_url(server.url, None, KEY)
    with pytest.raises(ServerError, match=r"does not serve large; it serves: nothing$"):
        target.of_url(server.url, "large", KEY)
    server.answers["/v1/models"] = (200, {"data": [{"id": "small"}]})
    assert target.of_url(f"{server.url}/v1/", None, KEY).endpoint.model == "small"
    with pytest.raises(ServerError, match=r"does not serve large; it serves: small$"):
        target.of_url(server.url, "large", KEY)


def test_a_completion_that_is_none(server: Service) -> None:
    server.answers[COMPLETIONS] = (200, {"choices": []})
    with pytest.raises(ServerError, match="not a chat completion"):
        client.complete(ApiEndpoint(server.url, "m", KEY), {}, 5)


def test_keys_and_prompts_are_in_no_repr() -> None:
    shown = repr(
        [ApiEndpoint("http://x", "m", KEY), Chat("secret prompt", 4), ServerRequest("http://x", KEY, {"a": "b"})]
    )
    assert KEY not in shown
    assert "secret prompt" not in shown
    assert "'b'" not in shown


def test_tokens_that_arrive_together_are_one_part_and_make_decode_doubtful() -> None:
    """A reasoning parser that holds its text back sends all of it at once: vLLM 0.23.0 on CPU did."""
    at_once = RoundRecord(
        seconds=1, prompt_tokens=(9,), output_tokens=(64,), ttft_s=(0.5,), total_s=(0.5001,), gap_s=(0.0001,),
        parts=(2,), reasoning_parts=(0,),
    )  # fmt: skip
    subject = BenchSubject(url="", model="m")
    point = PointRecord(name="single", output_tokens=64, rounds=(at_once,))
    record = BenchRecord(mode="single", tool="t", taken="2026-11-22", subject=subject, points=(point,))
    [warning] = summary.warnings(record)
    assert warning.startswith("single: few parts for many tokens, so the decode speed is doubtful")
