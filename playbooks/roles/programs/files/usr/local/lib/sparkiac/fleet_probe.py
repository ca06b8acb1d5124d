"""Check one endpoint of the fleet with the steps of the probe. Needs only Python 3.8 or newer.

It is a process of its own, because the limits of the probe use a signal, and because it can be killed. It reads
{"promise": {…}, "key": …, "within_s": 40} from standard input, where the key may be null, and prints why the endpoint
fails, or nothing if it works. It runs the steps of a periodic answer: health, names, and while no request waits, the
known answer.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import probe_steps
from probe_http import Server
from probe_session import Session

STEPS = ("health", "names", "queue", *probe_steps.ANSWERS)


def fault_of(asked: dict[str, Any]) -> str:
    """Return why an endpoint fails; an empty text if it works."""
    promise = asked["promise"]
    session = Session(Server(promise["url"], lambda: asked["key"]), promise)
    session.limit(asked["within_s"])
    fault = probe_steps.first_fault(probe_steps.run(session, STEPS))
    return "" if fault is None else " ".join(str(fault).split())


if __name__ == "__main__":
    sys.stdout.write(fault_of(json.load(sys.stdin)))
