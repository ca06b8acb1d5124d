"""Switch this host to another generation, and back if that fails. Needs only Python 3.10 or newer.

switch stage                    write a generation beside the current one (JSON on standard input)
switch start GENERATION|previous|current --run RUN [--turn NAME]
                                switch in a unit of its own, which outlives the connection, and wait for its end
switch turn NAME                switch to another turn of the current generation, without a controller
switch status                   generations and turn of this host
switch drift                    what differs from the current generation, with the changes as a diff
switch lease take|renew|release one apply at a time (take: who asks, JSON on standard input)
switch drain|undrain [UNIT...]  take no new connections, and wait until the running requests have ended
switch open UNIT --for 1h       take connections although the server of the unit has not passed
switch uninstall [--dry-run]    remove everything that sparkiac installed
Called by systemd: switch run (the switch itself), answer (of a coordinator), recover (at boot), started UNIT and
opened UNIT (begin and end of a start), reloaded UNIT (end of a reload), doors (which keeps the table of nftables).

Each command prints one JSON object. Exit status: 0 done, 1 failed (one sentence on stderr says why), 2 usage,
5 another apply holds the lease.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import state as switch_state
from ..contract import validated
from ..local import LocalHost
from ..network.nft import DoorsError
from . import drain as switch_drain
from . import drift as switch_drift
from . import history, opening, record, start, starts, store, uninstall
from . import lease as switch_lease
from .run import STEP_ERRORS

HELD = 5


def status(machine: LocalHost) -> dict[str, Any]:
    """Return the generations and turns of this host and who applies now."""
    state = switch_state.read(machine)
    lease, drained = switch_lease.holder(machine), switch_drain.drained(machine)
    plan = store.readable(machine, state.committed).plan
    turns = {"turn": store.current_turn(plan, state.turn), "turns": plan["turns"]}
    kept = {"kept": store.kept(machine), "history": [each._asdict() for each in history.read(machine)]}
    return {**switch_state.shown(state), **turns, **kept, "lease": lease, "drained": drained}


def drift(machine: LocalHost) -> dict[str, Any]:
    """Return what differs from the current generation."""
    current = switch_state.read(machine).current
    if current is None:
        raise ValueError("this host has no generation")
    return switch_drift.drift(machine, current)


def units_of(machine: LocalHost, names: list[str]) -> list[dict[str, Any]]:
    """Return the named units of the current generation, or all that run in the current turn."""
    plan = store.installed(machine)
    units = plan["units"]
    unknown = sorted(set(names) - {unit["name"] for unit in units})
    if unknown:
        message = f"no unit {', '.join(unknown)} on this host; it has {', '.join(unit['name'] for unit in units)}"
        raise ValueError(message)
    if not names:
        return store.running_in(plan, store.current_turn(plan, switch_state.read(machine).turn))
    return [unit for unit in units if unit["name"] in names]


def drain(machine: LocalHost, names: list[str]) -> dict[str, Any]:
    """Take no new connections on the ports of units, and wait until their requests have ended."""
    units = units_of(machine, names)
    found = switch_drain.drain(machine, units, max((unit["drain_s"] for unit in units), default=0))
    return {"drained": [each._asdict() for each in found], "lines": [each.line() for each in found]}


def undrain(machine: LocalHost, names: list[str]) -> dict[str, Any]:
    """Take connections again."""
    units = units_of(machine, names)
    switch_drain.undrain(machine, units)
    lines = [f"{unit['name']}: accepts connections" for unit in units if unit["listen"] is not None]
    return {"undrained": [unit["name"] for unit in units], "lines": lines}


def lease(machine: LocalHost, arguments: argparse.Namespace) -> dict[str, Any]:
    """Take, renew or release the lease of this host."""
    if arguments.action == "take":
        asking = validated("program", "standard input", read(), switch_lease.CONTROLLER)
        return switch_lease.take(machine, arguments.run, asking["owner"], asking)
    return {"renew": switch_lease.renew, "release": switch_lease.release}[arguments.action](machine, arguments.run)


def started(machine: LocalHost, name: str) -> dict[str, Any]:
    """Record the inputs of a unit that starts, and close its port; tell its health check whether its version is known.

    Fail if its files are from an unfinished switch, if it gives up, or if its port cannot be closed.
    """
    start.check_finished(machine, name)
    opening.tell(machine, name, known=False)
    try:
        plan = store.installed(machine)
        opening.close(machine, plan, name)
        record.record(machine, plan, name, invocation())
        opening.tell(machine, name, known=record.has_passed(machine, name, invocation()))
        starts.begin(machine, name)
    except DoorsError:
        raise
    except STEP_ERRORS as error:
        sys.stderr.write(f"switch started: {error}; the next apply restarts it\n")
    return {}


def opened(machine: LocalHost, name: str) -> dict[str, Any]:
    """Open the port of a unit whose server has passed, and remember that its version has."""
    opening.passed(machine, store.installed(machine), name)
    record.note(machine, name, invocation(), good=True)
    return {}


def reloaded(machine: LocalHost, name: str) -> dict[str, Any]:
    """Record the inputs of a unit that has read its secrets again."""
    record.record(machine, store.installed(machine), name, invocation())
    return {}


def invocation() -> str:
    """Return systemd's ID of the start that this program belongs to."""
    return os.environ.get("INVOCATION_ID", "")


def hold_open(machine: LocalHost, name: str, for_s: int) -> dict[str, Any]:
    """Open the port of a unit for some time."""
    [unit] = units_of(machine, [name])
    return {"lines": [opening.hold_open(machine, unit["name"], for_s)]}


def keep(machine: LocalHost) -> dict[str, Any]:
    """Keep the table of nftables as it was written."""
    opening.keep(machine)
    return {}


def seconds(text: str) -> int:
    """Return the seconds of a duration such as 90s, 10m or 1h."""
    found = re.fullmatch(r"([0-9]{1,6})([smh])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"not a duration such as 90s, 10m or 1h: {text!r}")
    return int(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def read() -> dict[str, Any]:
    """Return the JSON object on standard input."""
    found = json.load(sys.stdin)
    if not isinstance(found, dict):
        raise TypeError("standard input is not a JSON object")
    return found


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="switch", description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path("/"), help="root directory of the host, for tests")
    commands = parser.add_subparsers(dest="command", required=True)
    kinds = {name: commands.add_parser(name) for name in COMMANDS}
    starting, removing = kinds["start"], kinds["uninstall"]
    found = "a generation that was staged, `previous` or `current`"
    starting.add_argument("generation", metavar="GENERATION", help=found)
    starting.add_argument("--turn", metavar="NAME", help="turn to switch to (default: the current one)")
    starting.add_argument("--run", required=True, help="name of this apply; the same name waits for the same switch")
    starting.add_argument("--also", action="append", default=[], metavar="UNIT", help="restart it in any case")
    kinds["turn"].add_argument("turn", metavar="NAME")
    kinds["lease"].add_argument("action", choices=("take", "renew", "release"))
    kinds["lease"].add_argument("--run", required=True)
    for name in ("drain", "undrain"):
        kinds[name].add_argument("units", nargs="*", metavar="UNIT")
    for name in ("started", "opened", "reloaded", "open"):
        kinds[name].add_argument("unit", metavar="UNIT")
    kinds["open"].add_argument("--for", dest="for_s", type=seconds, required=True, metavar="TIME", help="such as 1h")
    removing.add_argument("--dry-run", action="store_true", help="only list what would be removed")
    removing.add_argument("--weights", action="store_true", help="also remove weights that only sparkiac downloaded")
    return parser.parse_args(argv)


COMMANDS: dict[str, Callable[[LocalHost, argparse.Namespace], dict[str, Any]]] = {
    "stage": lambda machine, _: {"changed": store.stage(machine, read())},
    "start": lambda machine, arguments: start.start(machine, arguments, sys.stdin.read()),
    "turn": lambda machine, arguments: start.turn(machine, arguments.turn),
    "status": lambda machine, _: status(machine),
    "drift": lambda machine, _: drift(machine),
    "lease": lease,
    "drain": lambda machine, arguments: drain(machine, arguments.units),
    "undrain": lambda machine, arguments: undrain(machine, arguments.units),
    "uninstall": lambda machine, each: uninstall.uninstall(machine, dry_run=each.dry_run, weights=each.weights),
    "run": lambda machine, _: start.run(machine),
    "answer": lambda machine, _: start.answer(machine),
    "recover": lambda machine, _: start.recover(machine),
    "started": lambda machine, arguments: started(machine, arguments.unit),
    "opened": lambda machine, arguments: opened(machine, arguments.unit),
    "reloaded": lambda machine, arguments: reloaded(machine, arguments.unit),
    "open": lambda machine, arguments: hold_open(machine, arguments.unit, arguments.for_s),
    "doors": lambda machine, _: keep(machine),
}


def main(argv: list[str]) -> int:
    """Run a command and return its exit status."""
    arguments = parse(argv)
    try:
        found = COMMANDS[arguments.command](LocalHost(arguments.root), arguments)
    except switch_lease.LeaseHeldError as error:
        sys.stderr.write(f"{error}\n")
        return HELD
    except (*STEP_ERRORS, TypeError) as error:
        sys.stderr.write(f"switch {arguments.command}: {error}\n")
        return 1
    sys.stdout.write(json.dumps(found) + "\n")
    return 0
