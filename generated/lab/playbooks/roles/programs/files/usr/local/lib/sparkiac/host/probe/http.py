"""Requests to a model server, with a limit for the whole response."""

from __future__ import annotations

import http.client
import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..contract import parsed

OK = 200
CLIENT_ERRORS = range(400, 500)
TOO_MANY_REQUESTS = 429
MAX_BODY_BYTES = 8 << 20
JSON = "application/json"


class NotServingError(Exception):
    """The server does not work, or not yet."""


class TimeoutOfAnswerError(NotServingError):
    """The server accepted a request and did not answer it in time."""


class WrongError(NotServingError):
    """The server gives a wrong answer; waiting does not help."""


class RefusedError(WrongError):
    """The server rejects the request."""

    def __init__(self, message: str, text: str, status: int) -> None:
        """Store the text and the status of the response."""
        super().__init__(message)
        self.text, self.status = text, status


class Stream(NamedTuple):
    """A streamed response."""

    events: list[dict[str, Any]]
    done: bool
    """Whether it ended with [DONE]."""
    first_s: float
    """Seconds until the first event with text, reasoning or a tool call; until the end if there was none."""
    seconds: float


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Limit the total time of a block; a socket timeout alone would not stop a server that sends single bytes."""

    def stop(_signal: int, _frame: object) -> None:
        raise TimeoutOfAnswerError(f"no answer within {seconds:g} s")

    former = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


class Server:
    """HTTP client for the server at a URL; it ignores proxy settings in the environment."""

    def __init__(self, url: str, key: Callable[[], str | None]) -> None:
        """Store the URL and the function that returns the API key, which is called for each request."""
        self.parts = urlsplit(url)
        self.key = key

    @contextmanager
    def responses(
        self, path: str, bodies: list[bytes | None], *, within: float, content_type: str = JSON
    ) -> Iterator[list[http.client.HTTPResponse]]:
        """Send requests at once and give their 200 responses; reading them counts towards the limit."""
        headers = {"Content-Type": content_type}
        key = self.key()
        if key:
            headers["Authorization"] = f"Bearer {key}"
        place = self.parts.path.rstrip("/") + path
        connections = [http.client.HTTPConnection(self.parts.hostname or "", self.parts.port) for _ in bodies]
        try:
            with limit(within):
                for connection, body in zip(connections, bodies, strict=True):
                    connection.request("GET" if body is None else "POST", place, body, headers)
                yield [checked(path, connection.getresponse()) for connection in connections]
        except TimeoutOfAnswerError as error:
            raise TimeoutOfAnswerError(f"{path}: {error}") from None
        except (OSError, http.client.HTTPException) as error:
            raise NotServingError(f"{path}: {error!r}") from None
        finally:
            for connection in connections:
                connection.close()

    def get(self, path: str, *, within: float) -> bytes:
        """Return the body of the 200 response to a GET request."""
        with self.responses(path, [None], within=within) as [answer]:
            return answer.read(MAX_BODY_BYTES)

    def post(self, path: str, body: dict[str, Any], *, within: float) -> bytes:
        """Return the body of the 200 response to a request with JSON."""
        return self.upload(path, json.dumps(body).encode(), JSON, within=within)

    def upload(self, path: str, body: bytes, content_type: str, *, within: float) -> bytes:
        """Return the body of the 200 response to a request with any content."""
        with self.responses(path, [body], within=within, content_type=content_type) as [answer]:
            return answer.read(MAX_BODY_BYTES)

    def choices(self, path: str, bodies: list[dict[str, Any]], *, within: float) -> list[dict[str, Any]]:
        """Send requests to a model at once and return the first choice of each response."""
        with self.responses(path, [json.dumps(body).encode() for body in bodies], within=within) as answers:
            found = [as_object(path, answer.read(MAX_BODY_BYTES)) for answer in answers]
        try:
            return [dict(answer["choices"][0]) for answer in found]
        except (KeyError, IndexError, TypeError, ValueError):
            raise WrongError(f"{path}: response has no choices") from None

    def stream(self, path: str, body: dict[str, Any], *, within: float) -> Stream:
        """Send a request with `stream` and return its events."""
        began, first, events, done = time.monotonic(), 0.0, [], False
        with self.responses(path, [json.dumps({**body, "stream": True}).encode()], within=within) as [answer]:
            for line in answer:
                data = line.strip()
                if not data.startswith(b"data:"):
                    continue
                done = data == b"data: [DONE]"
                if not done:
                    events.append(as_object(path, data[len(b"data:") :]))
                    first = first or (time.monotonic() - began if has_text(events[-1]) else 0.0)
        seconds = time.monotonic() - began
        return Stream(events, done, first or seconds, seconds)


def checked(path: str, answer: http.client.HTTPResponse) -> http.client.HTTPResponse:
    """Return a response; raise an error if its status is not 200."""
    if answer.status == OK:
        return answer
    text = answer.read(MAX_BODY_BYTES).decode("utf-8", "replace")
    message = f"{path}: HTTP {answer.status} {text[:200]}".strip()
    if answer.status in CLIENT_ERRORS and answer.status != TOO_MANY_REQUESTS:
        raise RefusedError(message, text, answer.status)
    raise NotServingError(message)


def as_object(path: str, content: bytes) -> dict[str, Any]:
    """Return a JSON object."""
    try:
        return dict(parsed(content))
    except (ValueError, TypeError):
        raise WrongError(f"{path}: response is not a JSON object: {content[:80]!r}") from None


def has_text(event: dict[str, Any]) -> bool:
    """Return whether an event of a stream has text, reasoning or a tool call."""
    return any(any(delta_of(choice).values()) for choice in event.get("choices") or [])


def delta_of(choice: dict[str, Any]) -> dict[str, Any]:
    """Return the new parts of a choice of a stream: content, reasoning, tool calls."""
    delta = choice.get("delta") or {}
    reasoning = delta.get("reasoning") or delta.get("reasoning_content")
    content = delta.get("content") or choice.get("text")
    return {"content": content, "reasoning": reasoning, "tool_calls": delta.get("tool_calls")}
