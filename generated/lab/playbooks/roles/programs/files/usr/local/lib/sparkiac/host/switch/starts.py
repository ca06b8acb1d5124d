"""Give up a unit after starts that never answered or left memory behind: 35 wedged a host (eugr/spark-vllm-docker#257).

Called when a start begins. A start counts if its container has started and the unit did not become ready. `supervise`
leaves the file RAN for the former, and `group` removes it if another node has ended. NRestarts of systemd is 0 unless
the start is an automatic one: every other start counts from zero. Records are in /run, which is empty after a boot.

A start gives up by stopping its own unit, because systemd does not restart a unit that was stopped. The unit is then
`failed` until somebody starts it.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from typing import Any

from .. import local
from ..local import LocalHost
from . import store

MOST_STARTS = 5
"""Starts in a row that never answer; a default, far below the 35 that wedged a host."""
SERVED_S = 3600
"""A unit that was ready for so long counts from zero; a default."""
GIB = 1 << 30
LOST_BYTES = 4 * GIB
"""Memory that a stopped unit may keep; a default. The alert MemoryLow has the same figure."""
RETURN_S = 300
"""How long memory may take to come back: a start failed after 3 minutes, not after 4 (model-serving-minefield 81)."""
POLL_S = 2
STOP_S = 30
"""How long systemd may take to stop a start that gives up."""
STARTS = "/run/sparkiac/starts"
RAN = "ran"
"""File in the runtime directory of the unit: its container has started since the last call."""
RECORD = {"at_s": float, "unanswered": int, "available_bytes": int, "ready": list[str], "gave_up": str | None}


def begin(machine: LocalHost, name: str) -> None:
    """Record that a start begins; end the program instead if the unit gives up."""
    units = store.installed(machine)["units"]
    states = local.states(machine, [unit["name"] for unit in units])
    former = read(machine, name) if int(states[name]["NRestarts"]) else None
    ran = machine.path(f"/run/{name}/{RAN}")
    unanswered = former["unanswered"] if former else 0
    if former and ran.exists():
        unanswered = counted(former, states[name])
        if unanswered >= MOST_STARTS:
            give_up(machine, name, former, f"{MOST_STARTS} starts in a row never answered")
        missing = wait(machine, name, former, units)
        if missing >= LOST_BYTES:
            reason = f"{missing / GIB:.1f} GiB of memory did not come back in {RETURN_S // 60} minutes"
            give_up(machine, name, former, reason)
    ran.unlink(missing_ok=True)
    ready = [each for each, state in states.items() if state["ActiveState"] == "active"]
    record = {"at_s": time.monotonic(), "unanswered": unanswered, "available_bytes": available(machine), "ready": ready}
    write(machine, name, {**record, "gave_up": None})


def counted(former: dict[str, Any], state: dict[str, str]) -> int:
    """Return how many starts in a row never answered, with the last one."""
    entered_s, left_s = (int(state[f"Active{each}TimestampMonotonic"] or 0) / 1e6 for each in ("Enter", "Exit"))
    if entered_s < former["at_s"]:
        return int(former["unanswered"]) + 1
    return 0 if left_s - entered_s >= SERVED_S else int(former["unanswered"])


def wait(machine: LocalHost, name: str, former: dict[str, Any], units: list[dict[str, Any]]) -> int:
    """Wait until the memory that was available before the last start is so again; return what is missing."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # a unit that is stopped while it waits has not failed
    end = time.monotonic() + RETURN_S
    while (missing := lost(machine, name, former, units)) >= LOST_BYTES and time.monotonic() < end:
        status = f"--status=starting waiting for {missing / GIB:.1f} GiB of memory to come back"
        machine.run("systemd-notify", status, f"EXTEND_TIMEOUT_USEC={RETURN_S}000000")
        time.sleep(POLL_S)
    return missing


def lost(machine: LocalHost, name: str, former: dict[str, Any], units: list[dict[str, Any]]) -> int:
    """Return how much less memory is available than before the last start, without what other units took since then.

    The memory of CUDA is in no cgroup, so a unit that has started since then counts with its planned memory; without a
    planned value, nothing can be said. The container must be gone; preflight removes one that is left.
    """
    left = machine.run("timeout", "10", "docker", "ps", "-aq", "--filter", f"label=com.docker.compose.project={name}")
    new = [unit for unit in units if unit["name"] not in (name, *former["ready"])]
    states = local.states(machine, [unit["name"] for unit in new])
    took = [unit["memory_bytes"] for unit in new if states[unit["name"]]["ActiveState"] not in ("inactive", "failed")]
    unknown = left.code or left.output.strip() or None in took
    return 0 if unknown else int(former["available_bytes"]) - available(machine) - sum(took)


def available(machine: LocalHost) -> int:
    """Return the available memory."""
    sizes = dict(re.findall(r"^(\w+): +(\d+) kB$", machine.read("/proc/meminfo"), re.MULTILINE))
    return int(sizes["MemAvailable"]) * 1024


def give_up(machine: LocalHost, name: str, former: dict[str, Any], reason: str) -> None:
    """Stop the unit, so that systemd does not start it again, and end this program as a failure."""
    sys.stderr.write(f"{name} gave up: {reason}; to start it again: sudo systemctl start {name}\n")
    write(machine, name, {**former, "gave_up": reason})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    machine.run("systemctl", "stop", "--no-block", local.unit_file(name))
    time.sleep(STOP_S)  # systemd would restart the unit if this program ended before it was stopped
    sys.exit(1)


def gave_up(machine: LocalHost, name: str) -> str | None:
    """Return why a unit gave up, if it did since its last start on request."""
    record = read(machine, name)
    return str(record["gave_up"]) if record and record["gave_up"] else None


def read(machine: LocalHost, name: str) -> dict[str, Any] | None:
    """Return the record of a unit; None if there is none, or one that only root may read."""
    return local.read_record(machine, f"{STARTS}/{name}.json", RECORD)


def write(machine: LocalHost, name: str, record: dict[str, Any]) -> None:
    """Replace the record of a unit."""
    local.write(machine, f"{STARTS}/{name}.json", json.dumps(record))
