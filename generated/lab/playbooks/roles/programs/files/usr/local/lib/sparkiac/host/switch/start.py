"""Start a switch in a unit of its own, wait for its end, and finish interrupted switches."""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from pathlib import Path
from typing import Any

from .. import local
from .. import state as switch_state
from ..local import LocalHost, launcher
from ..state import VOTED
from . import http, install, lease, store, vote
from . import result as switch_result
from . import run as switch_run
from .history import COMMITTED
from .result import RESULT, Request

UNIT = "sparkiac-switch"
ANSWER = "sparkiac-answer"
RECOVER = "sparkiac-recover"
PREVIOUS, CURRENT = "previous", "current"
RETRIES = ("--property=Restart=on-failure", "--property=RestartSec=2")
"""If the program is killed, systemd starts it again, and it goes back."""
LIMITS = ("--property=StartLimitBurst=5", "--property=StartLimitIntervalSec=600")
POLL_S = 0.5


def start(machine: LocalHost, arguments: argparse.Namespace, text: str) -> dict[str, Any]:
    """Start a switch, unless the switch of this run was started before, and return its result."""
    lease.require(machine, arguments.run)
    former = result_of(machine, arguments.run)
    if former is not None:
        return former
    while lease.switch_runs(machine) and requested(machine) != arguments.run:
        time.sleep(POLL_S)  # the switch of an earlier apply, whose controller has gone
    if requested(machine) != arguments.run or not lease.switch_runs(machine):
        given = json.loads(text) if text.strip() else {}
        wanted = generation_of(machine, arguments.generation)
        token, commit = given.get("token", ""), given.get("commit") or None
        request = Request(wanted, arguments.run, token, arguments.also, arguments.turn, commit)
        local.write(machine, lease.REQUEST, json.dumps(request._asdict()))
        launch(machine, UNIT, "run", *RETRIES, *LIMITS)
    return wait(machine, arguments.run)


def turn(machine: LocalHost, name: str) -> dict[str, Any]:
    """Switch to another turn of the current generation; raise RuntimeError with the reports if the host went back.

    The timers of all hosts of a group call it at the same minute, so that they choose the same name and token.
    """
    run = f"turn-{name}-{time.strftime('%Y%m%dT%H%M', time.gmtime())}"
    secret = switch_state.read(machine).secret
    token = hashlib.sha256(f"{secret} {run}".encode()).hexdigest() if secret else ""
    lease.take(machine, run, f"switch turn {name}")
    try:
        wanted = argparse.Namespace(generation=CURRENT, run=run, also=[], turn=name)
        found = start(machine, wanted, json.dumps({"token": token}))
    finally:
        lease.release(machine, run)
    if found["outcome"] != COMMITTED:
        raise RuntimeError("\n".join(found["failed"]))
    return found


def generation_of(machine: LocalHost, name: str) -> str:
    """Return the name of a generation; `previous` is the one before the committed one, which is `current`."""
    state = switch_state.read(machine)
    wanted = {PREVIOUS: state.previous, CURRENT: state.committed}.get(name, name)
    if wanted is None:
        message = f"this host has no {name} generation; it has {', '.join(store.kept(machine)) or 'none'}"
        raise store.GenerationError(message)
    store.load(machine, wanted)
    return wanted


def launch(machine: LocalHost, unit: str, command: str, *properties: str) -> None:
    """Start a command of this program in a unit of its own."""
    local.launch(machine, unit, str(program(machine)), command, properties=properties)


def program(machine: LocalHost) -> Path:
    """Return this program in the directory of a generation, where it stays while files are installed."""
    here = launcher("switch")
    current = switch_state.read(machine).current
    if store.GENERATIONS in str(here) or current is None:
        return here
    kept = store.directory(machine, current) / "files/usr/local/lib/sparkiac/switch"
    return kept if kept.exists() else here


def requested(machine: LocalHost) -> str:
    """Return the run of the last request."""
    request = read_request(machine)
    return request.run if request else ""


def read_request(machine: LocalHost) -> Request | None:
    """Return the last request since the host booted."""
    try:
        return Request(**json.loads(machine.read(lease.REQUEST)))
    except FileNotFoundError:
        return None


def result_of(machine: LocalHost, run: str) -> dict[str, Any] | None:
    """Return the result of a run that has ended."""
    try:
        found: dict[str, Any] = json.loads(machine.read(RESULT))
    except (FileNotFoundError, ValueError):
        return None
    return found if found["run"] == run else None


def wait(machine: LocalHost, run: str) -> dict[str, Any]:
    """Wait for the end of a switch and return its result."""
    idle = 0
    while True:
        found = result_of(machine, run)
        if found is not None:
            return found
        idle = 0 if lease.switch_runs(machine) else idle + 1
        if idle > 2:  # noqa: PLR2004 - the result is written before the unit ends
            raise RuntimeError(f"the switch ended without a result; see journalctl --unit={UNIT}")
        time.sleep(POLL_S)


def run(machine: LocalHost) -> dict[str, Any]:
    """Do what the last request says; called by systemd."""
    request = read_request(machine)
    if request is not None and result_of(machine, request.run) is not None:
        request = None  # it has ended; only an interrupted switch remains
    try:
        result = switch_run.run(machine, request)
    except switch_run.STEP_ERRORS as error:
        if request is None or switch_state.read(machine).pending is not None:
            raise  # systemd starts this program again, which goes back
        return refused(machine, request, str(error))
    if switch_state.read(machine).decision is not None:  # a member has not confirmed the end
        launch(machine, ANSWER, "answer", *RETRIES)
    return result


def refused(machine: LocalHost, request: Request, why: str) -> dict[str, Any]:
    """Write the result of a switch that could not begin."""
    empty: dict[str, Any] = {"done": [], "saved": [], "seconds": 0, "changed": False}
    named = {"run": request.run, "generation": request.generation, "turn": None, "outcome": switch_result.BACK}
    result = {**named, **empty, "failed": [f"The switch did not begin: {why}"]}
    local.write(machine, RESULT, json.dumps(result))
    return result


def recover(machine: LocalHost) -> dict[str, Any]:
    """Finish an interrupted switch at boot, before the units start; a group first asks its coordinator."""
    state = switch_state.read(machine)
    if lease.switch_runs(machine):  # not a boot: its own program finishes the switch
        return switch_state.shown(state)
    if state.pending is not None:
        new = store.load(machine, state.pending.generation)
        old = store.load(machine, state.committed)
        if state.pending.phase != VOTED:
            for text in install.reinstall(machine, old, new):
                local.say(text)
        if new.plan["group"] is None:
            switch_run.settle(machine, old)
        else:
            for name in switch_run.group_units(new, old):  # their start is queued
                machine.run("systemctl", "stop", "--no-block", f"{name}.service")
            launch(machine, UNIT, "run", *RETRIES, *LIMITS)
    elif state.decision is not None:
        launch(machine, ANSWER, "answer", *RETRIES)
    return switch_state.shown(switch_state.read(machine))


def check_finished(machine: LocalHost, name: str) -> None:
    """Raise GenerationError if a switch was interrupted, and the unit would not start from the committed generation."""
    state = switch_state.readable(machine)
    if state.pending is None or lease.switch_runs(machine):
        return
    committed = store.load(machine, state.committed)
    unit = next((each for each in committed.plan["units"] if each["name"] == name), None)
    whole = unit is not None and all(
        machine.sha256(each.path) == each.sha256 for each in committed.files if each.path in unit["files"]
    )
    if unit is None or unit["group"] or not whole:
        raise store.GenerationError(f"an interrupted switch was not finished; see journalctl --unit={RECOVER}")


def answer(machine: LocalHost) -> dict[str, Any]:
    """Tell the members of a group what was decided, until each has done it."""
    state = switch_state.read(machine)
    decision = state.decision
    plan = store.load(machine, state.committed).plan
    group = plan["group"]
    if decision is None or group is None:
        return {}
    waiting = set(decision.waiting)

    def hear(host: str, name: str | None, _vote: http.Vote) -> str:
        if name == vote.DONE:
            waiting.discard(host)
        if name in (vote.DOWN, vote.DONE):
            return http.GO
        return http.GO if decision.commit and name is not None else http.BACK

    where = (group["coordinator"], group["address"], group["port"], decision.run, decision.token)
    members = http.Members(group["coordinator"], [*group["members"], *decision.waiting], *where)
    vote.open_port(machine, plan, required=False)
    server = http.serve(members, hear)
    while waiting:
        time.sleep(POLL_S)
    server.shutdown()
    switch_state.write(machine, switch_state.read(machine)._replace(decision=None))
    return {"answered": decision.waiting}
