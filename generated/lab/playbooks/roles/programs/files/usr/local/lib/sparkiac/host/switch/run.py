"""Switch this host to a generation, or back. Runs in a unit of its own.

The steps: record that the switch is pending; install; restart what differs; send requests to what restarted; commit.
If a step fails, or this process is interrupted, the committed generation is installed again, and what differs restarts.
"""

from __future__ import annotations

import re
import time
from functools import partial
from typing import Any

from .. import local
from .. import state as switch_state
from ..local import LocalHost, say
from ..stage import prune
from ..stage.store import StageError
from ..state import RETURNING, TRYING, VOTED, Decision, Pending, State
from . import actions, drain, drift, effective, effects, http, restart, store
from . import vote as switch_vote
from .history import COMMITTED
from .install import check_space, install, prepare, reinstall
from .report import gate
from .result import BACK, Request, Switch, ending, finished, is_new
from .store import Generation, GenerationError

TIMEOUT_STOP = re.compile(r"^TimeoutStopSec=([0-9]+)$", re.MULTILINE)
STEP_ERRORS = (OSError, ValueError, KeyError, GenerationError, StageError, RuntimeError)


def run(machine: LocalHost, request: Request | None) -> dict[str, Any]:
    """Finish an interrupted switch, if there is one, and switch to the requested generation. Return the result."""
    pending = switch_state.read(machine).pending
    if pending is not None:
        result = resume(machine, pending)
        if request is None or request.run == pending.run:
            return result
    return attempt(machine, request) if request is not None else {}


def attempt(machine: LocalHost, request: Request) -> dict[str, Any]:
    """Switch to a generation; go back to the committed one if anything fails."""
    began = time.monotonic()
    state = switch_state.read(machine)
    new, old = store.load(machine, request.generation), store.load(machine, state.committed)
    for file in new.files:
        new.content(file.path)  # nothing is damaged
    turn = turn_of(new, request, state)
    check_space(machine)
    prune.record(request.generation, new.plan["needs"], prune.roots_below(machine.root), write=True)
    prepare(machine, new)
    switch_vote.open_port(machine, new.plan, required=not new.plan["nft_optional"])
    pending = Pending(request.generation, request.run, request.token, TRYING, request.also, turn)
    switch_state.write(machine, state._replace(current=new.name, pending=pending))
    switch = join(machine, request._replace(turn=turn), new, old, back=False)
    return finished(switch, began, forward(switch))


def turn_of(new: Generation, request: Request, state: State) -> str | None:
    """Return the turn after a switch: the requested one, or else the current one; raise if there is no such turn."""
    if request.turn is not None and request.turn not in new.plan["turns"]:
        raise GenerationError(f"this host has no turn {request.turn}; it has {', '.join(new.plan['turns']) or 'none'}")
    return store.current_turn(new.plan, request.turn or state.turn)


def resume(machine: LocalHost, pending: Pending) -> dict[str, Any]:
    """End a switch that was interrupted: go back, unless the group has decided to switch."""
    began = time.monotonic()
    say(f"the switch to {pending.generation} was interrupted")
    state = switch_state.read(machine)
    new, old = store.load(machine, pending.generation), store.load(machine, state.committed)
    request = Request(pending.generation, pending.run, pending.token, pending.also, pending.turn)
    switch_vote.open_port(machine, new.plan, required=False)
    switch = join(machine, request, new, old, back=True)
    if pending.phase == VOTED and vote(switch, ok=True):
        return finished(switch, began, restarted(switch))
    if pending.phase == TRYING and switch.members and not switch.coordinates:
        switch.votes.agree(switch_vote.READY, ok=False, decide=lambda: None)
    failed = ["the switch was interrupted: its program or the host ended before it was committed"]
    stopping = stopping_all_of(switch, group_units(new, old))  # what was agreed on is not known any more
    return finished(switch, began, returned(stopping, {"done": [], "failed": failed, "saved": []}))


def join(machine: LocalHost, request: Request, new: Generation, old: Generation, *, back: bool) -> Switch:
    """Return the switch, with the votes of its group; `back`: it can only go back, unless the group has decided."""
    group = new.plan["group"]
    turns = request.turn, store.current_turn(old.plan, switch_state.read(machine).turn)
    if group is None:
        return Switch(machine, request, new, old, switch_vote.Alone(), *turns)
    stop = partial(stop_units, machine, group_units(new, old))
    where = (group["coordinator"], group["address"], group["port"], request.run, request.token)
    members = http.Members(new.plan["host"], group["members"], *where)
    if group["coordinator"] == members.host:
        machine.run("systemctl", "stop", "sparkiac-answer.service")
        votes = switch_vote.Coordinator(members, stop, stop_s=stop_s(new, old), back=back)
        return Switch(machine, request, new, old, votes, *turns)
    return Switch(machine, request, new, old, switch_vote.Member(members, stop, stop_s=stop_s(new, old)), *turns)


def group_units(*generations: Generation) -> list[str]:
    """Return the units of this host that run together with units of other hosts. Older versions did not mark them."""
    return list(dict.fromkeys(unit["name"] for each in generations for unit in each.plan["units"] if unit["group"]))


def stop_s(*generations: Generation) -> int:
    """Return how many seconds systemd gives the units of the group to stop."""
    paths = [(each, f"etc/systemd/system/{name}.service") for each in generations for name in group_units(each)]
    texts = [each.content(path).decode() for each, path in paths]
    return max((int(found[1]) for text in texts if (found := TIMEOUT_STOP.search(text))), default=0)


def stop_units(machine: LocalHost, names: list[str]) -> None:
    """Stop units of this host."""
    for name in names:
        machine.run("systemctl", "stop", f"{name}.service")


def forward(switch: Switch) -> dict[str, Any]:
    """Install and start the new generation, and ask the gate; commit or go back."""
    machine, new, old = switch.machine, switch.new, switch.old
    found: dict[str, Any] = {"done": [], "failed": [], "saved": []}
    passed = False
    try:
        if switch.members:
            switch = leave(switch)
        found["saved"] = drift.save_edited(machine, old.name) if old.name else []
        install(machine, new, old)
        found.update(restarted(switch))
        asked = [each["unit"] for each in found["done"] if each["action"] != "stop"]
        found["failed"] = found["failed"] or gate(machine, new, [*asked, *promising(switch)])
        braked = switch.votes.brake.pulled
        if braked:  # another host failed, and its thread stopped the units here: they did not fail by themselves
            found["failed"] = []
        passed = vote(switch, ok=not braked and not found["failed"])
    except STEP_ERRORS as error:
        found["failed"] = [str(error)]
        if switch.members:
            vote(switch, ok=False)
    if not passed:
        return returned(switch, found)
    if switch.votes.lost:  # the units were stopped while the coordinator could not be reached
        restarted(switch)
    return {**found, "outcome": COMMITTED}


def promising(switch: Switch) -> list[str]:
    """Return the units of this turn that promise something else than before, also if they did not restart."""
    former = {unit["name"]: unit["promise"] for unit in switch.old.plan["units"]}
    units = store.running_in(switch.new.plan, switch.turn)
    return [unit["name"] for unit in units if unit["promise"] != former.get(unit["name"], unit["promise"])]


def moving(switch: Switch) -> list[str]:
    """Return the units of the group that the switch would start, restart or stop on this host."""
    tree = {each.path: effective.digest(each.path, switch.new.content(each.path)) for each in switch.new.files}
    steps = actions.steps(switch.machine, switch.new.plan, switch.turn, tree=tree)
    moved = {step.unit for step in steps if step.action not in actions.STAYING}
    moved.update(switch.request.also, (unit["name"] for unit in effects.leaving(switch.new.plan, switch.old.plan)))
    return [name for name in group_units(switch.new, switch.old) if name in moved]


def stopping_all_of(switch: Switch, names: list[str]) -> Switch:
    """Return the switch with these units among those that restart in any case."""
    return switch._replace(request=switch.request._replace(also=[*switch.request.also, *names]))


def stopping(switch: Switch) -> list[str]:
    """Return the units of the group that stop on all hosts before one of them starts again."""
    return [name for name in group_units(switch.new, switch.old) if name in switch.request.also]


def leave(switch: Switch) -> Switch:
    """Stop the units of the group that restart, on all its hosts, before any of them starts the new generation.

    No host stops its units before the requests have ended on all: the leader answers them with the others. Return the
    switch, with these units among those that restart in any case.
    """
    switch = stopping_all_of(switch, [*begin_together(switch, switch_vote.RESTARTING, moving(switch))])
    names, units = stopping(switch), switch.old.plan["units"]
    switch.votes.brake.stop = partial(stop_units, switch.machine, names)
    for unit in [unit for unit in units if unit["name"] in names]:
        drain.drain(switch.machine, [unit], unit["drain_s"])
    begin_together(switch, switch_vote.DRAINED, ok=True)
    stop_units(switch.machine, names)
    drain.undrain(switch.machine, units)
    begin_together(switch, switch_vote.STOPPED, ok=True)
    return switch


def begin_together(switch: Switch, name: str, ok: http.Vote) -> http.Answer:
    """Wait until all hosts have voted in a round before the start; raise GenerationError if the group goes back."""
    found = switch.votes.agree(name, ok=ok, decide=lambda: None)
    if found == http.BACK:
        raise GenerationError("the group does not switch: another host of it failed or cannot be reached")
    return found


def vote(switch: Switch, *, ok: bool) -> bool:
    """Vote, and commit if the whole group does. After its vote, a member goes back only if the coordinator says so."""
    if ok and switch.members and not switch.coordinates:
        state = switch_state.read(switch.machine)
        assert state.pending is not None  # noqa: S101 - attempt() has written it
        switch_state.write(switch.machine, state._replace(pending=state.pending._replace(phase=VOTED)))
    return switch.votes.agree(switch_vote.READY, ok=ok, decide=lambda: commit(switch)) == http.GO


def commit(switch: Switch) -> None:
    """Make the new generation the committed one, in one write."""
    machine, new = switch.machine, switch.new
    state = switch_state.read(machine)
    previous = state.previous if state.committed in (None, new.name) else state.committed
    secret = switch.request.token if switch.members else None
    done = State(new.name, previous, new.name, None, decision_of(switch, committed=True), switch.turn, secret)
    switch_state.write(machine, done)


def decision_of(switch: Switch, *, committed: bool) -> Decision | None:
    """Return the decision that a coordinator keeps for its members."""
    if not switch.coordinates:
        return None
    waiting = [name for name in switch.members if name != switch.new.plan["host"]]
    return Decision(switch.request.run, switch.request.token, committed, waiting)


def returned(switch: Switch, found: dict[str, Any]) -> dict[str, Any]:
    """Install the committed generation again, restart what differs, and add to the reports what was done."""
    machine, new, old = switch.machine, switch.new, switch.old
    state = switch_state.read(machine)
    if state.pending is not None:
        switch_state.write(machine, state._replace(pending=state.pending._replace(phase=RETURNING)))
    failed = found["failed"] or ["another host of the group failed or cannot be reached"]
    say(f"going back to {old.name or 'no generation'}: {failed[0]}")
    if switch.members:
        stop_units(machine, stopping(switch))
        switch.votes.all_down()
    drain.undrain(machine)
    failed = [*failed, *reinstall(machine, old, new)]
    again = restarted(switch, back=True) if is_new(switch) or switch.members else {"failed": []}
    state = switch_state.read(machine)
    decision = decision_of(switch, committed=False)
    switch_state.write(machine, state._replace(current=old.name, pending=None, decision=decision))
    return {**found, "failed": [*failed, *again["failed"]], "outcome": BACK, "ending": ending(switch, again["failed"])}


def settle(machine: LocalHost, old: Generation) -> None:
    """End an interrupted switch at boot: start the units of the committed generation, without waiting for them."""
    state = switch_state.read(machine)
    switch_state.write(machine, state._replace(current=old.name, pending=None))
    turn = store.current_turn(old.plan, state.turn)
    resting, running = store.resting_in(old.plan, turn), store.running_in(old.plan, turn)
    for units, at_boot, now in ((resting, "disable", "stop"), (running, "enable", "start")):
        for name in (local.unit_file(unit["name"]) for unit in units):
            machine.run("systemctl", at_boot, name)
            machine.run("systemctl", now, "--no-block", name)


def restarted(switch: Switch, *, back: bool = False) -> dict[str, Any]:
    """Restart the units that differ from the new generation and its turn, or from the former ones."""
    generation, turn = (switch.old, switch.former) if back else (switch.new, switch.turn)
    also = [unit["name"] for unit in generation.plan["units"] if unit["name"] in switch.request.also]
    return restart.restart(switch.machine, generation.plan, also, turn)
