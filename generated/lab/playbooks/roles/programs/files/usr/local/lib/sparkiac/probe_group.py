"""End a node of a group when another node has gone. Needs only Python 3.8 or newer.

Measured with vLLM 0.23.0: a group does not notice that an idle node has gone, its other nodes keep their memory, and a
node that starts again joins the old group and waits for ever. Only when all nodes end and start again does the group
work again, in any order. Each node therefore watches its connections to the rendezvous store of the leader. If those to
another node are gone, it ends its own server, and systemd starts it again.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import probe_metrics
from probe_http import NotServingError

if TYPE_CHECKING:
    from probe_watch import Watch

SERVER = 1
"""The first process of the container, which ends its children."""


def check(promise: dict[str, Any], watch: Watch) -> None:
    """Compare the connections with those of the last check, and end the server if those to a node are gone.

    A connection is recorded when two checks in a row have seen it: processes that start may open others for a moment.
    """
    if promise["store"] is None:
        return
    port = int(promise["store"].rpartition(":")[2])
    found = probe_metrics.connections(port, local=promise["kind"] != "worker")
    recorded, seen = watch.state["connections"], watch.state["seen"]
    gone = [node for node, ends in recorded.items() if not set(ends) & set(found.get(node, ()))]
    if gone:
        os.kill(SERVER, signal.SIGTERM)
        message = f"the connection to {', '.join(gone)} is gone: this node ends and starts again with the others"
        raise NotServingError(message)
    known = {node: {*recorded.get(node, ()), *seen.get(node, ())} for node in found}
    both = {node: sorted(known[node] & set(ends)) for node, ends in found.items()}
    watch.save(connections={node: ends for node, ends in both.items() if ends}, seen=found)
