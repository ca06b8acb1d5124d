"""Check one endpoint of the fleet with the steps of the probe.

It is a process of its own, because the limits of the probe use a signal, and because it can be killed. It reads
{"promise": {…}, "key": …, "within_s": 40, "queued": …} from standard input, where the key and `queued` may be null, and
prints {"fault": …, "queued": …}: why the endpoint fails, or an empty text, and the token counters if requests wait. It
runs the steps of a periodic answer: health, names, and while no request waits, the known answer. While requests wait,
it fails if the counters are those of the last run, which it gets as `queued`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from ..probe import steps
from ..probe.http import Server
from ..probe.session import Session

STEPS = ("health", "names", "queue", *steps.ANSWERS)


def result_of(asked: dict[str, Any]) -> dict[str, str | None]:
    """Return why an endpoint fails, an empty text if it works, and its token counters if requests wait."""
    promise = asked["promise"]
    session = Session(Server(promise["url"], lambda: asked["key"]), promise)
    session.limit(asked["within_s"])
    fault = steps.first_fault(steps.run(session, STEPS))
    text = "" if fault is None else " ".join(str(fault).split())
    if not text and session.queued is not None and session.queued == asked["queued"]:
        text = f"{session.stopped.partition(': ')[2]}, and no token since the last check"
    return {"fault": text, "queued": session.queued}


if __name__ == "__main__":
    json.dump(result_of(json.load(sys.stdin)), sys.stdout)
