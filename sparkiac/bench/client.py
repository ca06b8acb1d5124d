"""Send one chat request and measure it. Times are in seconds, speeds in tokens per second, shares from 0 to 1.

Benchmarks divide in different ways. `decode_speed` is the one of sparkiac, of `vllm bench serve` (1000 / TPOT) and of
the script of the Spark guide (section 10). The vLLM blog and tool-eval-bench count the first token as well: their speed
is higher, by 1/n for n tokens.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from itertools import pairwise
from threading import Event
from typing import Any, Final, NamedTuple

from sparkiac.model import answers
from sparkiac.model.answers import Number, ReportedFacts, Text
from sparkiac.upstream.streaming import Arrival, ServerError, ServerRequest, fetch, stream

_CHAT: Final = "/v1/chat/completions"
_TEXTS: Final = ("content", "reasoning", "reasoning_content")
"""Fields of a delta that contain generated text. The names of reasoning differ between releases."""
_TIMEOUT_S: Final = 900
"""Longest wait for the next part of a response. The first part of a long prompt takes minutes."""
_SHORTEST_S: Final = 1.0


def prefill_speed(prompt_tokens: int, ttft_s: float) -> float | None:
    """Return the prompt tokens per second until the first token."""
    return prompt_tokens / ttft_s if prompt_tokens and ttft_s > 0 else None


def decode_speed(output_tokens: int, ttft_s: float, total_s: float) -> float | None:
    """Return the tokens per second after the first one; None for a single token or a stream of one part."""
    return (output_tokens - 1) / (total_s - ttft_s) if output_tokens > 1 and total_s > ttft_s else None


def throughput(output_tokens: int, seconds: float) -> float:
    """Return the generated tokens per second of all requests together."""
    return output_tokens / seconds if seconds > 0 else 0.0


def change(before: float, after: float) -> float:
    """Return the relative change: 0.1 is 10 % more."""
    return after / before - 1


def draft_length(acceptance: float, drafted: float) -> float:
    """Return the accepted tokens per draft of `drafted` tokens, tool-eval-bench's τ."""
    return acceptance * drafted


def waste(acceptance: float) -> float:
    """Return the share of drafted tokens that were rejected."""
    return 1 - acceptance


class ApiEndpoint(NamedTuple):
    """The server to measure."""

    url: str
    """URL without /v1."""
    model: str
    key: str | None = None
    engine: str | None = None
    """Engine of the server, which decides the names of its metrics; None if the names of all engines are tried."""
    max_model_len: int | None = None
    weights: str | None = None
    """Repository or directory of the weights, from which other programs read the tokenizer."""

    def __repr__(self) -> str:
        """Leave out the API key."""
        return f"Endpoint({self.url!r}, {self.model!r})"


class Chat(NamedTuple):
    """A request whose response has exactly `output_tokens` tokens, if the engine can force that."""

    prompt: str
    output_tokens: int
    thinking: bool | None = None
    """Turn thinking on or off; None means the default of the model."""

    def __repr__(self) -> str:
        """Return a short text without the prompt."""
        return f"Chat({self.output_tokens})"


class Sample(NamedTuple):
    """One measured request."""

    prompt_tokens: int = 0
    output_tokens: int = 0
    """Generated tokens, including reasoning, as the server counts them."""
    ttft_s: float = 0.0
    """Time to the first token."""
    total_s: float = 0.0
    """Time to the last token."""
    gap_s: float = 0.0
    """Longest wait between two parts after the first one."""
    parts: int = 0
    """Chunks of the stream that contain generated text."""
    reasoning_parts: int = 0
    error: str | None = None
    """Why there is no measurement."""

    @property
    def prefill(self) -> float | None:
        """Return the prompt tokens per second."""
        return prefill_speed(self.prompt_tokens, self.ttft_s)

    @property
    def decode(self) -> float | None:
        """Return the tokens per second after the first token."""
        return decode_speed(self.output_tokens, self.ttft_s, self.total_s)


def measure(
    endpoint: ApiEndpoint, chat: Chat, stopped: Event, until_s: float = math.inf, began: Event | None = None
) -> Sample:
    """Send a request and return its times; set `began` at the first token, or if there is none.

    Raises StoppedError, also at `until_s` of the monotonic clock.
    """
    began = began or Event()
    timeout_s = min(_TIMEOUT_S, max(_SHORTEST_S, until_s - time.monotonic()))
    request = ServerRequest(f"{endpoint.url}{_CHAT}", endpoint.key, _body(endpoint, chat), timeout_s)
    try:
        return _sample(stream(request, stopped, until_s), began)
    except ServerError as error:
        return Sample(error=str(error))
    finally:
        began.set()


def complete(endpoint: ApiEndpoint, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    """Send a request without a stream and return the message. Raises ServerError."""
    data = {"model": endpoint.model, "temperature": 0, **body}
    text = fetch(ServerRequest(f"{endpoint.url}{_CHAT}", endpoint.key, data, timeout_s))
    try:
        found = answers.plain(text)["choices"][0]["message"]
    except (ValueError, LookupError, TypeError):
        found = None
    if not isinstance(found, dict):
        raise ServerError("the response is not a chat completion")
    return found


class Served(ReportedFacts):
    """A model as its server lists it."""

    id: Text
    max_model_len: Number | None = None
    root: Text | None = None
    """What the server loaded: a repository, or a directory of the server."""


class _ServedModels(ReportedFacts):
    data: tuple[Served, ...]


def models(url: str, key: str | None) -> dict[str, Served]:
    """Return the served models. Raises ServerError."""
    text = fetch(ServerRequest(f"{url}/v1/models", key))
    try:
        return {each.id: each for each in _ServedModels.of_json(text).data}
    except ValueError as error:
        raise ServerError(f"{url}/v1/models: the response is not a list of models: {error}") from None


def _body(endpoint: ApiEndpoint, chat: Chat) -> dict[str, Any]:
    """Return the request. `ignore_eos` and `min_tokens` force the length; engines without them ignore the names."""
    body: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [{"role": "user", "content": chat.prompt}],
        "max_tokens": chat.output_tokens,
        "min_tokens": chat.output_tokens,
        "ignore_eos": True,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if chat.thinking is not None:
        body["chat_template_kwargs"] = {"enable_thinking": chat.thinking}
    return body


class _Usage(ReportedFacts):
    prompt_tokens: Number | None = None
    completion_tokens: Number | None = None


class _Choice(ReportedFacts):
    delta: dict[str, Any] | None = None


class _Chunk(ReportedFacts):
    """An event of a stream."""

    usage: _Usage | None = None
    choices: tuple[_Choice, ...] | None = None
    error: Any = None


def _sample(arrivals: Iterable[Arrival], began: Event) -> Sample:
    usage: _Usage | None = None
    times: list[float] = []
    reasoning = 0
    for seconds, chunk in _chunks(arrivals):
        usage = chunk.usage or usage
        for delta in (choice.delta or {} for choice in chunk.choices or ()):
            if _is_token(delta):
                times.append(seconds)
                began.set()
                reasoning += not delta.get("content")
    if not times:
        return Sample(prompt_tokens=(usage and usage.prompt_tokens) or 0, error=_no_token(usage))
    if usage is None or usage.completion_tokens is None:
        return Sample(error="the server sent no usage, so its tokens cannot be counted")
    return Sample(
        prompt_tokens=usage.prompt_tokens or 0,
        output_tokens=usage.completion_tokens,
        ttft_s=times[0],
        total_s=times[-1],
        gap_s=max((later - earlier for earlier, later in pairwise(times)), default=0.0),
        parts=len(set(times)),
        reasoning_parts=reasoning,
    )


def _chunks(arrivals: Iterable[Arrival]) -> Iterator[tuple[float, _Chunk]]:
    for arrival in arrivals:
        if arrival.data == "[DONE]":
            return
        try:
            chunk = _Chunk.of_json(arrival.data)
        except ValueError as error:
            raise ServerError(f"an event of the stream: {error}") from None
        if chunk.error:
            raise ServerError("the server sent an error instead of a token")
        yield arrival.seconds, chunk


def _is_token(delta: dict[str, Any]) -> bool:
    """Return whether a delta is a generated token.

    The first delta has the role and no text. A later delta without text is a token whose text is held back, because a
    character is incomplete or a parser has not recognised it yet.
    """
    if any(delta.get(name) for name in _TEXTS):
        return True
    return "role" not in delta and any(name in delta for name in _TEXTS)


def _no_token(usage: _Usage | None) -> str:
    if usage and usage.completion_tokens:
        return (
            f"{usage.completion_tokens} generated tokens were not streamed: a reasoning parser holds them back until "
            "the reasoning ends; use --thinking off, or raise --output-tokens"
        )
    return "the server generated no token"
