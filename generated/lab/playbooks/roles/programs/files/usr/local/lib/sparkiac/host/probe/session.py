"""One run of steps against a server: its promise, its limits, and what earlier steps found."""

from __future__ import annotations

import time
from typing import Any

from . import metrics as probe_metrics
from .http import NotServingError, Server, Stream, WrongError

HEALTH_TIMEOUT_S = 4
ANSWER_TIMEOUT_S = 60.0
FIRST_TOKEN_S = 10
"""Limit for the first token of a short request to a warm server in which no request waits."""
GENERATES = ("chat", "generate")
"""Kinds of servers that generate text."""
CHAT = "/v1/chat/completions"


class SkippedError(Exception):
    """A step does not apply, or cannot be checked now."""


class TraitError(Exception):
    """A trait of the server that clients should know; it works."""


def skip_unless(applies: object, why: str) -> None:
    """Skip a step that does not apply."""
    if not applies:
        raise SkippedError(why)


def wrong_if(fault: str | None, path: str = "") -> None:
    """Raise WrongError if there is a fault in the answer from a path."""
    if fault:
        raise WrongError(f"{path}: {fault}" if path else fault)


class Session:
    """One run of steps for a promise, with what earlier steps found."""

    def __init__(self, server: Server | None, promise: dict[str, Any], *, patience_s: float = 0.0) -> None:
        """`patience_s` is how long the queue may take to become empty."""
        self.remote, self.promise, self.patience_s = server, promise, patience_s
        self.kind = str(promise["kind"])
        self.entries: list[dict[str, Any]] = []
        self.choice: dict[str, Any] | None = None
        self.called: dict[str, Any] = {}
        """The response to a request with tools; empty if there is none."""
        self.streamed: Stream | None = None
        self.moved: dict[str, float] = {}
        """How far the counters of the engine moved while a prompt was repeated."""
        self.limit_s, self.end = float(promise["answer_s"]), float("inf")
        self.queued: str | None = None
        """Token counters while requests wait in the engine; None if none waits."""
        self.stopped = ""
        """Why no further answer is requested."""

    @property
    def server(self) -> Server:
        """Return the server; a worker of a group has none."""
        if self.remote is None:
            raise SkippedError("it serves no HTTP")
        return self.remote

    @property
    def model(self) -> str:
        """Return the first served name."""
        return str(self.promise["models"][0])

    def only(self, *kinds: str) -> None:
        """Skip a step for other kinds of servers, and after a step that stopped the requests."""
        skip_unless(self.kind in kinds, f"not for this kind of server ({self.kind})")
        self.may_ask()

    def may_ask(self) -> None:
        """Skip a step if no further answer is requested."""
        skip_unless(not self.stopped, self.stopped)

    def limit(self, seconds: float) -> None:
        """Limit all further answers together."""
        self.limit_s, self.end = seconds, time.monotonic() + seconds

    def within(self) -> float:
        """Return the limit of the next answer: the first one may compile kernels."""
        found = min(self.limit_s, max(1.0, self.end - time.monotonic()))
        self.limit_s = ANSWER_TIMEOUT_S
        return found

    def ask(self, body: dict[str, Any], *, path: str = CHAT) -> dict[str, Any]:
        """Send a request to the model and return its first choice."""
        return self.ask_at_once([body], path=path)[0]

    def ask_at_once(self, bodies: list[dict[str, Any]], *, path: str = CHAT) -> list[dict[str, Any]]:
        """Send requests to the model at once and return the first choice of each response."""
        return self.server.choices(path, [{"model": self.model, **body} for body in bodies], within=self.within())

    def load(self) -> probe_metrics.Load | None:
        """Return the load of the engine; None if it has no metrics."""
        return probe_metrics.load_of(self.metrics())

    def metrics(self) -> str:
        """Return the metrics; empty if the engine has none."""
        if self.promise["metrics"] is None:
            return ""
        try:
            return self.server.get(self.promise["metrics"], within=HEALTH_TIMEOUT_S).decode("utf-8", "replace")
        except NotServingError:
            return ""
