"""Steps that request no answer: health, ranks, names, length, queue."""

from __future__ import annotations

import socket
import time

from . import metrics
from .http import NotServingError, WrongError, as_object
from .session import HEALTH_TIMEOUT_S, Session, SkippedError

QUEUE_STEP_S = 2


def health(session: Session) -> str:
    """Check that the health endpoint returns 200."""
    if not session.promise["health"]:
        message = "no health endpoint is known"
        raise SkippedError(message)
    session.server.get(session.promise["health"], within=HEALTH_TIMEOUT_S)
    return f"{session.promise['health']} returns 200"


def ranks(session: Session) -> str:
    """Check that the nodes of a group are connected: a dead one is invisible in /health of the leader."""
    store, workers = session.promise["store"], session.promise["workers"]
    if store is None:
        message = "not a node of a group"
        raise SkippedError(message)
    address, _, port = store.rpartition(":")
    leads = session.promise["kind"] != "worker"
    found = metrics.connections(int(port), local=leads)
    if not leads and not addresses(address) & set(found):
        message = f"no connection to the leader's store at {store}"
        raise NotServingError(message)
    if leads and len(found) < workers:
        message = f"{len(found)} of {workers} workers are connected to the store at {store}"
        raise NotServingError(message)
    return f"{len(found)} of {workers} workers are connected" if leads else f"connected to the store at {store}"


def addresses(name: str) -> set[str]:
    """Return the IP addresses of a host, which may be given as one."""
    try:
        return {str(entry[4][0]) for entry in socket.getaddrinfo(name, None)}
    except OSError as error:
        message = f"{name}, the leader of the group: {error.strerror or error}"
        raise NotServingError(message) from None


def names(session: Session) -> str:
    """Check that all names are served. llama.cpp lists one model and its other names as aliases."""
    wanted = session.promise["models"]
    if not wanted:
        message = "no model names are promised"
        raise SkippedError(message)
    content = session.server.get("/v1/models", within=HEALTH_TIMEOUT_S)
    session.entries = as_object("/v1/models", content).get("data") or []
    served = [name for entry in session.entries for name in [entry.get("id"), *(entry.get("aliases") or ())]]
    missing = [name for name in wanted if name not in served]
    if missing:
        message = f"/v1/models: serves {', '.join(map(str, served)) or 'nothing'}, not {', '.join(missing)}"
        raise WrongError(message)
    return f"serves {', '.join(wanted)}"


def length(session: Session) -> str:
    """Check max_model_len."""
    promised = session.promise["max_model_len"]
    reported = [entry["max_model_len"] for entry in session.entries if entry.get("max_model_len") is not None]
    if promised is None or not reported:
        message = "none is promised" if promised is None else "/v1/models reports none"
        raise SkippedError(message)
    if reported[0] != promised:
        message = f"max_model_len is {reported[0]} instead of {promised}"
        raise WrongError(message)
    return f"{promised} tokens"


def queue(session: Session) -> str:
    """Wait until no request waits in the engine. Further answers are requested only then."""
    load, end = session.load(), time.monotonic() + session.patience_s
    if load is None:
        message = "the server has no metrics of its queue"
        raise SkippedError(message)
    before = load
    while load is not None and load.waiting and time.monotonic() < end:
        time.sleep(QUEUE_STEP_S)
        load = session.load()
    if load is None or not load.waiting:
        return load.queue if load else "the metrics are gone"
    session.stopped, session.queued = f"not requested: {load.queue}", load.counters
    if load.counters == before.counters and session.patience_s:
        message = f"{load.queue}, and no token for {session.patience_s:g} s"
        raise NotServingError(message)
    raise SkippedError(load.queue)
