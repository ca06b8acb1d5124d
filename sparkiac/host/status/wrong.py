"""The last wrong answer of each unit that its health check recorded in the journal."""

from __future__ import annotations

import json
import re
import time
from typing import Any

from ..local import LocalHost

SINCE = "-1day"
MOST = 200
TIMEOUT_S = 5
"""An engine that logs every request can fill the journal of a day."""
US = 1_000_000
ALERT = re.compile(r"supervise: \w+ sparkiac-alert: (.*)")
"""What `supervise` logs if the probe finds a wrong answer."""


def last(machine: LocalHost, names: list[str]) -> dict[str, dict[str, Any]]:
    """Return unit → its last wrong answer and how long ago that was."""
    if not names:
        return {}
    argv = ("timeout", str(TIMEOUT_S), "journalctl", "--no-pager", "--output=json", f"--since={SINCE}")
    filters = ("--output-fields=MESSAGE,_SYSTEMD_UNIT", "--grep=^supervise: .*sparkiac-alert:", f"--lines={MOST}")
    try:
        done = machine.run(*argv, *filters, *[f"--unit={name}.service" for name in names])
    except OSError:
        return {}
    alerts = [found for line in done.output.splitlines() if (found := alert(line))]
    return {unit: {"ago_s": max(0, int(time.time() - at_s)), "fault": fault} for at_s, unit, fault in sorted(alerts)}


def alert(line: str) -> tuple[float, str, str] | None:
    """Return time, unit and fault from a line of JSON; None if it is something else."""
    try:
        found = json.loads(line)
        said = ALERT.match(found["MESSAGE"])
        at_s, unit = int(found["__REALTIME_TIMESTAMP"]) / US, str(found["_SYSTEMD_UNIT"]).rpartition(".")[0]
    except (ValueError, KeyError, TypeError):
        return None
    return (at_s, unit, said[1]) if said else None
