"""End a node of a group when another node has gone.

Measured with vLLM 0.23.0: a group does not notice that an idle node has gone, its other nodes keep their memory, and a
node that starts again joins the old group and waits for ever. Only when all nodes end and start again does the group
work again, in any order. Each node therefore watches its connections to the rendezvous store of the leader. If those to
another node are gone, it ends its own server, and systemd starts it again.
"""

from __future__ import annotations

import os
import signal
from typing import Any

from . import metrics
from .http import NotServingError

SERVER = 1
"""The first process of the container, which ends its children."""


def check(promise: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """Return the connections to record; end the server if those to a node that had some are gone.

    A connection is recorded when two checks in a row have seen it: processes that start may open others for a moment.
    """
    if promise["store"] is None:
        return {}
    port = int(promise["store"].rpartition(":")[2])
    found = metrics.connections(port, local=promise["kind"] != "worker")
    recorded, seen = state["connections"], state["seen"]
    gone = [node for node, ends in recorded.items() if not set(ends) & set(found.get(node, ()))]
    if gone:
        os.kill(SERVER, signal.SIGTERM)
        message = f"the connection to {', '.join(gone)} is gone: this node ends and starts again with the others"
        raise NotServingError(message)
    known = {node: {*recorded.get(node, ()), *seen.get(node, ())} for node in found}
    both = {node: sorted(known[node] & set(ends)) for node, ends in found.items()}
    return {"connections": {node: ends for node, ends in both.items() if ends}, "seen": found}
