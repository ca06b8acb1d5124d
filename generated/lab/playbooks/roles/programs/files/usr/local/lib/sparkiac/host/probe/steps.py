"""Check step by step what a unit promises.

A step returns its evidence, raises SkippedError if it does not apply, TraitError with what clients should know, or
NotServingError with what is wrong. Steps run one after the other and send one request at a time, except `together`.
After a timeout, and while requests wait in the engine, no further answer is requested.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from . import agents, basic, kinds, text
from .http import NotServingError, TimeoutOfAnswerError
from .session import Session, SkippedError, TraitError

STEPS: dict[str, Callable[[Session], str]] = {
    "health": basic.health,
    "ranks": basic.ranks,
    "names": basic.names,
    "length": basic.length,
    "queue": basic.queue,
    "content": text.content,
    "readable": text.readable,
    "answer": text.answer,
    "reasoning": text.reasoning,
    "channel": text.channel,
    "tools": agents.tools,
    "unclosed": agents.unclosed,
    "call": agents.call,
    "strings": agents.strings,
    "marks": text.marks,
    "together": text.together,
    "messages": agents.messages,
    "responses": agents.responses,
    "structured": text.structured,
    "stream": text.stream,
    "latency": text.latency,
    "repeated": text.repeated,
    "speculation": text.speculation,
    "vision": kinds.vision,
    "embeddings": kinds.embeddings,
    "scores": kinds.scores,
    "transcription": kinds.transcription,
    "speech": kinds.speech,
}
"""All steps, in their order."""
LIVE = ("health", "ranks", "names")
"""Steps that request no answer."""
ANSWERS = ("content", "readable", "answer", "embeddings", "scores")
"""Steps of a periodic answer."""
READY = (*LIVE, "queue", "content", "readable", "answer", "tools", "embeddings", "scores")
"""Steps before a unit is ready."""
GATE = (*LIVE, "length", "queue", *ANSWERS, "reasoning", "tools", "transcription")
"""First steps of an apply."""
CLIENTS = ("channel", "unclosed", "strings", "together", "messages", "responses")
"""Further steps of an apply, if the first ones passed: what breaks clients although the known answer is right."""
ALL = tuple(STEPS)
STOPPING = frozenset(LIVE)
"""After the failure of one of these steps, no answer is requested."""


class Step(NamedTuple):
    """The result of a step."""

    name: str
    state: str
    """`ok`, `warning`, `failed` or `skipped`."""
    evidence: str
    seconds: float
    fault: NotServingError | None = None
    """Why it failed."""

    def plain(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"name": self.name, "state": self.state, "evidence": self.evidence, "seconds": round(self.seconds, 3)}


def run(session: Session, names: tuple[str, ...]) -> list[Step]:
    """Run steps by name and return their results."""
    found = []
    for name in names:
        began, fault = time.monotonic(), None
        try:
            state, evidence = "ok", STEPS[name](session)
        except SkippedError as error:
            state, evidence = "skipped", str(error)
        except TraitError as error:
            state, evidence = "warning", str(error)
        except NotServingError as error:
            state, evidence, fault = "failed", " ".join(str(error).split()), error
            if name in STOPPING or isinstance(error, TimeoutOfAnswerError):
                session.stopped = session.stopped or f"not requested after the failure of {name}"
        found.append(Step(name, state, evidence, time.monotonic() - began, fault))
    return found


def first_fault(steps: list[Step]) -> NotServingError | None:
    """Return why the first failed step failed; None if no step failed."""
    return next((step.fault for step in steps if step.fault is not None), None)
