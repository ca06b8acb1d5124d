"""Steps that request no answer: health, ranks, names, length, queue."""

from __future__ import annotations

import socket
import time

from . import metrics
from .http import NotServingError, WrongError, as_object
from .session import HEALTH_TIMEOUT_S, Session, SkippedError, skip_unless

QUEUE_STEP_S = 2


def health(session: Session) -> str:
    """Check that the health endpoint returns 200."""
    skip_unless(session.promise["health"], "no health endpoint is known")
    session.server.get(session.promise["health"], within=HEALTH_TIMEOUT_S)
    return f"{session.promise['health']} returns 200"


def ranks(session: Session) -> str:
    """Check that the nodes of a group are connected: a dead one is invisible in /health of the leader."""
    store, workers = session.promise["store"], session.promise["workers"]
    skip_unless(store is not None, "not a node of a group")
    address, _, port = store.rpartition(":")
    leads = session.promise["kind"] != "worker"
    found = metrics.connections(int(port), local=leads)
    if not leads and not addresses(address) & set(found):
        raise NotServingError(f"no connection to the leader's store at {store}")
    if leads and len(found) < workers:
        raise NotServingError(f"{len(found)} of {workers} workers are connected to the store at {store}")
    return f"{len(found)} of {workers} workers are connected" if leads else f"connected to the store at {store}"


def addresses(name: str) -> set[str]:
    """Return the IP addresses of a host, which may be given as one."""
    try:
        return {str(entry[4][0]) for entry in socket.getaddrinfo(name, None)}
    except OSError as error:
        raise NotServingError(f"{name}, the leader of the group: {error.strerror or error}") from None


def names(session: Session) -> str:
    """Check that all names are served. llama.cpp lists one model and its other names as aliases."""
    wanted = session.promise["models"]
    skip_unless(wanted, "no model names are promised")
    content = session.server.get("/v1/models", within=HEALTH_TIMEOUT_S)
    session.entries = as_object("/v1/models", content).get("data") or []
    served = [name for entry in session.entries for name in [entry.get("id"), *(entry.get("aliases") or ())]]
    missing = [name for name in wanted if name not in served]
    if missing:
        raise WrongError(f"/v1/models: serves {', '.join(map(str, served)) or 'nothing'}, not {', '.join(missing)}")
    return f"serves {', '.join(wanted)}"


def length(session: Session) -> str:
    """Check max_model_len."""
    promised = session.promise["max_model_len"]
    reported = [entry["max_model_len"] for entry in session.entries if entry.get("max_model_len") is not None]
    skip_unless(promised is not None, "none is promised")
    skip_unless(reported, "/v1/models reports none")
    if reported[0] != promised:
        raise WrongError(f"max_model_len is {reported[0]} instead of {promised}")
    return f"{promised} tokens"


def queue(session: Session) -> str:
    """Wait until no request waits in the engine. Further answers are requested only then."""
    load, end = session.load(), time.monotonic() + session.patience_s
    if load is None:
        raise SkippedError("the server has no metrics of its queue")
    before = load
    while load is not None and load.waiting and time.monotonic() < end:
        time.sleep(QUEUE_STEP_S)
        load = session.load()
    if load is None or not load.waiting:
        return load.queue if load else "the metrics are gone"
    session.stopped, session.queued = f"not requested: {load.queue}", load.counters
    if load.counters == before.counters and session.patience_s:
        raise NotServingError(f"{load.queue}, and no token for {session.patience_s:g} s")
    raise SkippedError(load.queue)
