"""The health check of a container: readiness at first, then the watchdog.

Each run checks health, names and the nodes of a group (connections()), and reads the load. It requests an answer at
first, and again if the last one is 5 minutes old and the token counters have not moved. A hang fails the check.

A version that is new on this host is ready when its answers are right; three wrong ones in a row end the server. A
version that has passed before is ready when its health answers. A wrong answer of a ready server is an alert, and the
second one in a row closes its port (switch/opening.py). It fails the check only if the server has been ready for an
hour, so that it restarts at most once an hour.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any, NoReturn

from ..generation import ALERT, PASSED, WRONG_TWICE
from . import metrics
from .http import NotServingError, TimeoutOfAnswerError, WrongError
from .session import ANSWER_TIMEOUT_S, Session
from .steps import ANSWERS, LIVE, READY, first_fault, run

SERVER = 1
"""The first process of the container, which ends its children."""
SERVER_LOG = Path("/proc/1/fd/2")
TRIES = 3
"""Wrong answers in a row that prove at the first start of a version that it is wrong."""
PERIOD_S = 300
"""Time between two answers of an idle server."""
RETRY_S = 60
"""Time to the next answer after a wrong one, while that is only an alert."""
FIRST_ANSWERS_S = 120
"""Limit for all answers of the first check together. Docker stops a health check after 150 s."""
HANG_S = 60
"""An engine hangs if requests run or wait and no counter moves for so long."""
RESTART_S = 3600
"""A wrong answer restarts a server that has been ready for so long."""
TIMES: dict[str, Any] = {"ready": None, "answered": None, "asked": None, "moved": None}
STATE = {**TIMES, "wrong": None, "hung": False, "counters": None, "connections": {}, "seen": {}}


class Watch:
    """The state between two checks, in a file that ends with the container. Times are seconds since the boot."""

    def __init__(self, path: Path) -> None:
        """Read the state; a missing or damaged file is no state."""
        self.path, self.now = path, time.monotonic()
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            self.state: dict[str, Any] = {**STATE, **found}
        except (OSError, ValueError, TypeError):
            self.state = dict(STATE)

    def age(self, name: str) -> float:
        """Return the seconds since a recorded time; infinite if there is none."""
        return float("inf") if self.state[name] is None else self.now - self.state[name]

    def save(self, **values: Any) -> None:  # noqa: ANN401 - JSON
        """Change the state and write it."""
        self.state.update(values)
        self.path.write_text(json.dumps(self.state), encoding="utf-8")

    def see(self, load: metrics.Load | None) -> bool:
        """Record the load; return whether the counters moved since the last check."""
        if load is None:
            return False
        moved = self.state["counters"] not in (None, load.counters)
        idle = not load.running and not load.waiting
        times = {} if not (moved or idle) and self.state["moved"] is not None else {"moved": self.now}
        self.save(counters=load.counters, **times)
        return moved

    def check_hang(self, load: metrics.Load | None, *, moved: bool) -> None:
        """Raise an error if the engine hangs, without another request."""
        if load is None:
            return
        if self.state["hung"] and not moved:
            raise TimeoutOfAnswerError(f"no answer within {HANG_S} s, and the token counters have not moved since")
        if (load.running or load.waiting) and self.age("moved") > HANG_S:
            raise TimeoutOfAnswerError(f"{load.queue}, and no token for {self.age('moved'):.0f} s")

    def is_due(self, *, moved: bool) -> bool:
        """Return whether an answer is requested now."""
        if self.state["answered"] is None or self.state["hung"]:
            return True
        if self.state["wrong"]:
            return self.age("asked") >= RETRY_S or self.age("ready") >= RESTART_S
        return self.age("answered") >= PERIOD_S and not moved


def check(session: Session, path: Path) -> str:
    """Check a server once. Return an alert, or an empty text; raise NotServingError if it must not count as healthy."""
    watch = Watch(path)
    watch.save(**connections(session.promise, watch.state))
    raise_first(run(session, LIVE))
    if not session.promise["models"]:
        return ""
    load = session.load()
    moved = watch.see(load)
    watch.check_hang(load, moved=moved)
    if watch.state["ready"] is None and PASSED in os.environ:
        pass  # the next check asks
    elif load is not None and load.waiting:
        if watch.state["ready"] is None and not moved:
            raise NotServingError(f"no answer yet: {load.queue}")
    elif watch.is_due(moved=moved):
        ask(session, watch)
    if watch.state["ready"] is None:
        watch.save(ready=watch.now)
    return f"{ALERT} {watch.state['wrong']}" if watch.state["wrong"] else ""


def connections(promise: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """Return the connections of a node of a group to record; end the server if those to another node are gone.

    Measured with vLLM 0.23.0: a group does not notice that an idle node has gone, its other nodes keep their
    memory, and a node that starts again joins the old group and waits for ever. Only when all nodes end and start
    again does the group work again, in any order. Each node therefore watches its connections to the rendezvous
    store of the leader. If those to another node are gone, it ends its own server, and systemd starts it again.

    A connection is recorded when two checks in a row have seen it: processes that start may open others for a moment.
    """
    if promise["store"] is None:
        return {}
    port = int(promise["store"].rpartition(":")[2])
    found = metrics.connections(port, local=promise["kind"] != "worker")
    recorded, seen = state["connections"], state["seen"]
    gone = [node for node, ends in recorded.items() if not set(ends) & set(found.get(node, ()))]
    if gone:
        lost = ", ".join(gone)
        end_server(
            NotServingError(f"the connection to {lost} is gone: this node ends and starts again with the others")
        )
    known = {node: {*recorded.get(node, ()), *seen.get(node, ())} for node in found}
    both = {node: sorted(known[node] & set(ends)) for node, ends in found.items()}
    return {"connections": {node: ends for node, ends in both.items() if ends}, "seen": found}


def end_server(why: NotServingError) -> NoReturn:
    """End the server, with the reason in its log and as an error: systemd starts it again, or a switch goes back."""
    with contextlib.suppress(OSError):
        SERVER_LOG.write_text(f"ERROR [sparkiac] {why}\n", encoding="utf-8")
    os.kill(SERVER, signal.SIGTERM)
    raise why


def ask(session: Session, watch: Watch) -> None:
    """Request an answer and record the result; raise an error if the server must not count as healthy."""
    starting, passed = watch.state["ready"] is None, watch.state["answered"] is not None
    watch.state["asked"] = watch.now
    session.limit(ANSWER_TIMEOUT_S if passed else FIRST_ANSWERS_S)
    steps = ANSWERS if passed and not watch.state["wrong"] else READY[len(LIVE) :]
    try:
        raise_first(run(session, steps))
    except TimeoutOfAnswerError:
        watch.save(hung=True, counters=counters(session))
        raise
    except WrongError as error:
        again = wrong_again(session, steps, TRIES - 1 if starting else 1)
        wrong = " ".join(str(error).split()) + (WRONG_TWICE if again and not starting else "")
        watch.save(wrong=wrong, hung=False, counters=counters(session))
        if starting and again:
            end_server(WrongError(f"{wrong}, {TRIES} times in a row: the server is ended"))
        if starting or watch.age("ready") >= RESTART_S:
            raise WrongError(wrong) from None
        return
    watch.save(answered=watch.now, wrong=None, hung=False, counters=counters(session))


def wrong_again(session: Session, steps: tuple[str, ...], times: int) -> bool:
    """Ask again after a wrong answer; return whether it is wrong each time."""
    for _ in range(times):
        another = Session(session.remote, session.promise)
        another.limit_s, another.end = session.limit_s, session.end
        if not isinstance(first_fault(run(another, steps)), WrongError):
            return False
    return True


def counters(session: Session) -> str | None:
    """Return the counters after an answer, which moved them."""
    load = session.load()
    return None if load is None else load.counters


def raise_first(steps: list[Any]) -> None:
    """Raise the error of the first step that failed."""
    fault = first_fault(steps)
    if fault is not None:
        raise fault
