"""What the journal says of each unit: its last start with the cause, and the last wrong answer of its server."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ..kills import kills
from ..local import LocalHost

STARTING = "7d4958e842da4a758f6c1cdc7b36dcc5"
STARTED = "39f53479d3a045ac8e11786248231fbf"
FAILED = "d9b373ed55a64feb8242e02dbe79a49c"
"""Messages of systemd: a start begins, a start is done, a unit failed with a result."""
FIELDS = "MESSAGE_ID,UNIT,UNIT_RESULT"
MOST = 2000
"""Messages that are read for all units together, the newest ones."""
SUFFIX = ".service"
US = 1_000_000
LAST = re.compile(r"^(?:supervise|group): (?:stopping, last state: )?(.*)|^FAIL {4,}(.*(?:\n {4,}.*)*)", re.MULTILINE)
"""The last state of a server, or a check before its start that failed, whose further lines are indented."""
FIRST, REQUESTED, CRASH, WATCHDOG, START_TIMEOUT, STOP_TIMEOUT, OUT_OF_MEMORY, REFUSED, KILLED = (
    "first start", "requested", "crash", "watchdog", "start timeout", "stop timeout", "out of memory", "not started",
    "ended for memory",
)  # fmt: skip
CAUSES = {"watchdog": WATCHDOG, "oom-kill": OUT_OF_MEMORY}
"""Result of a unit → cause; other results are crashes, except `timeout`, which has two causes."""
DETAIL_LINES = 200
BEFORE_S = 60
"""Time between the end of a process by earlyoom or systemd-oomd and that of its unit."""
ALERTS = 200
ALERTS_S = 5
"""An engine that logs every request can fill the journal of a day."""
ALERT = re.compile(r"supervise: \w+ sparkiac-alert: (.*)")
"""What `supervise` logs if the probe finds a wrong answer."""


T = TypeVar("T")


class Message(NamedTuple):
    """A message of systemd about a unit."""

    id: str
    unit: str
    result: str
    time_s: float


def restarts(machine: LocalHost, names: list[str]) -> dict[str, dict[str, Any]] | None:
    """Return unit → time and cause of its last start or failure; None if the journal shows nothing."""
    if not names:
        return {}
    found = messages(machine, names)
    if found is None:
        return None
    by_unit: dict[str, list[Message]] = {}
    for each in found:
        by_unit.setdefault(each.unit, []).append(each)
    return {name: last for name in names if (last := restart(machine, name, by_unit.get(name, [])))}


def messages(machine: LocalHost, names: list[str]) -> list[Message] | None:
    """Return what systemd reported about units since the boot, oldest first; None if the journal shows nothing."""
    matches = [f"MESSAGE_ID={each}" for each in (STARTING, STARTED, FAILED)]
    matches += [f"UNIT={name}{SUFFIX}" for name in names]
    argv = ("journalctl", "--no-pager", "--boot", "--output=json", f"--output-fields={FIELDS}", f"--lines={MOST}")
    try:
        done = machine.run("timeout", "10", *argv, "_PID=1", *matches)
    except OSError:
        return None
    return read(done.output, message) or None


def read(output: str, parse: Callable[[dict[str, Any]], T]) -> list[T]:
    """Return what each line of JSON contains; a line that is something else is left out."""
    found = []
    for line in output.splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            found.append(parse(json.loads(line)))
    return found


def message(entry: dict[str, Any]) -> Message:
    """Return a message of systemd."""
    unit, time_s = str(entry["UNIT"])[: -len(SUFFIX)], int(entry["__REALTIME_TIMESTAMP"]) / US
    return Message(str(entry["MESSAGE_ID"]), unit, str(entry.get("UNIT_RESULT", "")), time_s)


def restart(machine: LocalHost, name: str, found: list[Message]) -> dict[str, Any] | None:
    """Return the last start of a unit with its cause, or its failure if it has not started again."""
    starts = [number for number, each in enumerate(found) if each.id == STARTING]
    if not starts:
        return None
    begin, last = (starts[-2] if len(starts) > 1 else 0), starts[-1]
    after = [each for each in found[last:] if each.id == FAILED]
    before = [each for each in found[begin:last] if each.id == FAILED]
    if after:
        return described(machine, name, after[-1], found[last:])
    if before:
        return {**described(machine, name, before[-1], found[begin:last]), "ago_s": ago(found[last])}
    return {"ago_s": ago(found[last]), "cause": REQUESTED if len(starts) > 1 else FIRST, "detail": None}


def described(machine: LocalHost, name: str, failure: Message, run: list[Message]) -> dict[str, Any]:
    """Return the cause of a failure; `run` are the messages since the start before it."""
    started = any(each.id == STARTED for each in run)
    said, check = detail(machine, name, run[0].time_s, failure.time_s)
    if killed := kills(machine, f"@{int(failure.time_s) - BEFORE_S}", f"@{int(failure.time_s) + 1}"):
        return {"ago_s": ago(failure), "cause": KILLED, "detail": killed[-1].text}
    cause = CAUSES.get(failure.result, REFUSED if check else CRASH)
    if failure.result == "timeout":
        cause = STOP_TIMEOUT if started else START_TIMEOUT
    return {"ago_s": ago(failure), "cause": cause, "detail": said or check or None}


def ago(found: Message) -> int:
    """Return the seconds since a message."""
    return max(0, int(time.time() - found.time_s))


def detail(machine: LocalHost, name: str, since_s: float, until_s: float) -> tuple[str, str]:
    """Return why the container or the node ended, or which check before its start failed; the other text is empty."""
    argv = ("journalctl", "--no-pager", "--output=cat", f"--lines={DETAIL_LINES}", f"--since=@{int(since_s)}")
    done = machine.run("timeout", "10", *argv, f"--until=@{int(until_s) + 1}", f"--unit={name}{SUFFIX}")
    ended, check = ([("", ""), *LAST.findall(done.output)])[-1]
    return ended, " ".join(check.split())


def wrong(machine: LocalHost, names: list[str]) -> dict[str, dict[str, Any]]:
    """Return unit → its last wrong answer and how long ago that was."""
    if not names:
        return {}
    argv = ("timeout", str(ALERTS_S), "journalctl", "--no-pager", "--output=json", "--since=-1day")
    filters = ("--output-fields=MESSAGE,_SYSTEMD_UNIT", "--grep=^supervise: .*sparkiac-alert:", f"--lines={ALERTS}")
    try:
        done = machine.run(*argv, *filters, *[f"--unit={name}.service" for name in names])
    except OSError:
        return {}
    alerts = sorted(read(done.output, alert))
    return {unit: {"ago_s": max(0, int(time.time() - at_s)), "fault": fault} for at_s, unit, fault in alerts}


def alert(entry: dict[str, Any]) -> tuple[float, str, str]:
    """Return time, unit and fault of a wrong answer; raise TypeError for another line."""
    at_s, unit = int(entry["__REALTIME_TIMESTAMP"]) / US, str(entry["_SYSTEMD_UNIT"]).rpartition(".")[0]
    return at_s, unit, ALERT.match(entry["MESSAGE"])[1]  # type: ignore[index]
