"""Check all endpoints of the fleet timer, several at a time, within a total time."""

from __future__ import annotations

import http.client
import json
import queue
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

PROBE = (sys.executable, "-B", "-m", f"{__package__}.probe")
ROOT = Path(__file__).parents[1 + __package__.count(".")]
"""Directory from which Python finds the probe."""
LOG = 200
"""Characters of the errors of a probe that ended unexpectedly."""
PARALLEL = 16
LONGEST_S = 60
"""Maximum time of one check."""
SHORTEST_S = 5
PAUSE_S = 15
"""Pause before an endpoint that failed is checked again, so that a lost packet or a short restart sends no message."""
SHARE = 0.7
"""Share of the period that all checks of a run may take."""
OK = 200
ANSWER_SHARE = 0.75
"""Share of the time of a check that the answer of a model may take; the rest is for health and names."""


class Result(NamedTuple):
    """What one check of an endpoint found."""

    fault: str
    """Why it fails; empty if it works."""
    queued: str | None = None
    """Its token counters if requests wait there."""


def check(
    endpoints: list[dict[str, Any]], period_s: int, secrets: Path, queued: dict[str, str | None]
) -> dict[str, Result]:
    """Return the result for each endpoint, by name; `queued` is that of the last run. What fails is checked again."""
    end = time.monotonic() + SHARE * period_s
    limit_s = max(SHORTEST_S, min(LONGEST_S, int(SHARE * period_s * PARALLEL / max(PARALLEL, len(endpoints)) / 3)))

    def asked(entry: dict[str, Any]) -> Result:
        return result_of(entry, limit_s, secrets, queued.get(entry["name"]))

    found = all_of(endpoints, asked, end)
    failed = [entry for entry in endpoints if found[entry["name"]].fault]
    if failed and time.monotonic() + PAUSE_S + limit_s < end:
        time.sleep(PAUSE_S)
        found.update(all_of(failed, asked, end))
    return found


def all_of(endpoints: list[dict[str, Any]], ask: Callable[[dict[str, Any]], Result], end: float) -> dict[str, Result]:
    """Ask endpoints in daemon threads, so that one that never ends does not stop the run."""
    todo: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[str, Result]] = queue.SimpleQueue()

    def work() -> None:
        while True:
            try:
                entry = todo.get_nowait()
            except queue.Empty:
                return
            done.put((entry["name"], ask(entry)))

    for entry in endpoints:
        todo.put(entry)
    for _ in range(min(PARALLEL, len(endpoints))):
        threading.Thread(target=work, daemon=True).start()
    found = {entry["name"]: Result("no answer within the time of this run") for entry in endpoints}
    for _ in endpoints:
        try:
            found.update([done.get(timeout=max(0.0, end - time.monotonic()))])
        except queue.Empty:
            break
    return found


def result_of(entry: dict[str, Any], limit_s: int, secrets: Path, queued: str | None) -> Result:
    """Check one endpoint."""
    promise = entry["promise"]
    if promise is None:
        return Result(fault_of_url(entry["url"], limit_s))
    try:
        key = (secrets / promise["api_key"]).read_text(encoding="utf-8").strip() if promise["api_key"] else None
        asked = json.dumps({"promise": promise, "key": key, "within_s": ANSWER_SHARE * limit_s, "queued": queued})
        done = subprocess.run(  # noqa: S603
            PROBE, input=asked, capture_output=True, text=True, check=False, timeout=limit_s, cwd=ROOT
        )
    except subprocess.TimeoutExpired:
        return Result(f"no answer within {limit_s} s")
    except (OSError, ValueError) as error:
        return Result(f"it cannot be checked: {error}")
    if done.returncode:
        return Result(f"the probe failed: {done.stderr[-LOG:]}")
    return Result(**json.loads(done.stdout))


def fault_of_url(url: str, limit_s: int) -> str:
    """Return why an external URL fails: everything but 200, also after redirects, is a failure."""
    request = urllib.request.Request(url, headers={"User-Agent": "sparkiac"})  # noqa: S310 - http, see the inventory
    try:
        with urllib.request.urlopen(request, timeout=limit_s) as answer:  # noqa: S310
            return "" if answer.status == OK else f"HTTP {answer.status}"
    except urllib.error.HTTPError as error:
        with error:
            return f"HTTP {error.code}"
    except (OSError, ValueError, http.client.HTTPException) as error:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        return f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
