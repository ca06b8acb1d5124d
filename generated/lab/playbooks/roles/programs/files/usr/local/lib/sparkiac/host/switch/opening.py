"""When the port of a unit is open: closed at its start, open once its server has passed, or for a time on request.

The health check decides when a server has passed: a version that is new on this host by its answers, and one that has
passed before by its health alone. A port is closed while the health check says that the last answers were wrong, and
while a node of a group does not reach another one.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from .. import local
from .. import state as switch_state
from ..generation import ALERT, PASSED, WRONG_TWICE, Clients
from ..local import LocalHost, say
from ..network import doors, rules
from ..network.doors import Doors
from ..network.nft import DoorsError
from ..network.rules import ControlGroup
from . import store

SILENT = "silent"
"""File in the runtime directory of a node of a group: which nodes it does not reach. `supervise` reads it too."""
CHECK_S = 5
KNOWN = "passed.yaml"
"""File in the runtime directory of a unit that `supervise` adds to the compose file."""
WRONG = re.compile(rf"{ALERT} .*{WRONG_TWICE}")


def close(machine: LocalHost, plan: dict[str, Any], name: str) -> None:
    """Close the port of a unit that starts; raise DoorsError if that fails and it would reach others, or they it."""
    for listen in listens(plan, name):
        try:
            allow(machine, plan)
            doors.close(machine, name, listen)
        except (DoorsError, OSError) as error:
            address, port = rules.split(listen)
            fault = f"port {port} cannot be closed until the server has passed: {error}"
            confined = name in plan["egress"] or not ip_address(address).is_loopback
            if confined and not plan["nft_optional"]:
                machine.run("systemd-notify", f"--status=starting {fault}")
                raise DoorsError(f"{fault}; or set `nft: optional` for this host") from None
            say(f"{name}: {fault}")


def allow(machine: LocalHost, plan: dict[str, Any]) -> None:
    """Write who may connect to the ports of a plan, and what its containers may connect to.

    `restore` forgets what a former plan had when no switch is pending.
    """
    try:
        wanted = lists(machine, plan)
        doors.change(machine, lambda found: joined(found, wanted))
        unknown = [name for name, group in wanted.programs.items() if not group.number]
        fault = f"{', '.join(unknown)}: no unified control group, by which nftables would know it" if unknown else ""
    except (DoorsError, OSError) as error:
        fault = f"the lists of clients and of egress are not in force: {error}"
    if fault and not plan["nft_optional"]:
        raise DoorsError(f"{fault}; or set `nft: optional` for this host")
    if fault:
        say(fault)


def joined(found: Doors, more: Doors) -> Doors:
    """Return the record with further lists."""
    return found._replace(
        clients={**found.clients, **more.clients},
        egress={**found.egress, **more.egress},
        programs={**found.programs, **more.programs},
    )


def lists(machine: LocalHost, plan: dict[str, Any]) -> Doors:
    """Return who may connect to the units of a plan, and what they may connect to."""
    egress = plan["egress"]
    return Doors(clients=clients(machine, plan), egress=egress, programs=control_groups(machine, egress))


def control_groups(machine: LocalHost, units: Iterable[str]) -> dict[str, ControlGroup]:
    """Return those units without a container that run, with their control groups; one that nft does not know has 0."""
    found = {}
    for name in units:
        if machine.path(f"/etc/sparkiac/{name.removeprefix('sparkiac-')}/compose.yaml").exists():
            continue
        show = machine.run("systemctl", "show", "--property=ControlGroup", "--value", local.unit_file(name))
        path = show.output.strip().strip("/")
        place = path if doors.number(machine, path) else f"unified/{path}"
        if path:
            found[name] = ControlGroup(place, doors.number(machine, place) or 0, len(path.split("/")))
    return found


def clients(machine: LocalHost, plan: dict[str, Any]) -> dict[str, Clients]:
    """Return address:port → who may connect there, for the units of the current turn, or of the one that begins."""
    state = switch_state.readable(machine)
    turn = store.current_turn(plan, (state.pending and state.pending.turn) or state.turn)
    units = [unit for unit in store.running_in(plan, turn) if unit["name"] in plan["clients"]]
    return {unit["listen"]: Clients(**plan["clients"][unit["name"]]) for unit in units}


def passed(machine: LocalHost, plan: dict[str, Any], name: str) -> None:
    """Open the port of a unit whose server has passed."""
    for listen in listens(plan, name):
        doors.passed(machine, name, listen)


def tell(machine: LocalHost, name: str, *, known: bool) -> None:
    """Let the health check of a unit that starts know whether its version has passed before."""
    path = f"/run/{name}/{KNOWN}"
    machine.path(path).unlink(missing_ok=True)
    if known:
        local.write(machine, path, json.dumps({"services": {"server": {"environment": {PASSED: "1"}}}}))
        machine.path(path).chmod(0o644)


def listens(plan: dict[str, Any], name: str) -> list[str]:
    """Return the address and port of a unit, if it listens."""
    return [unit["listen"] for unit in plan["units"] if unit["name"] == name and unit["listen"]]


def hold_open(machine: LocalHost, name: str, for_s: int) -> str:
    """Open the port of a unit for some time, although its server has not passed; log it, and return what is logged."""
    until = {name: time.monotonic() + for_s}
    doors.change(machine, lambda found: found._replace(held_open={**found.held_open, **until}))
    text = f"the port of {name} is open for {for_s} s on request, whether its server has passed or not"
    machine.run("systemd-cat", "--identifier=sparkiac", "echo", text)
    return text


def keep(machine: LocalHost) -> None:
    """Look at the table every few seconds, and write it again if somebody else has changed it.

    It ends when an apply has replaced programs; systemd then starts the version that is installed.
    """
    began = programs()
    while programs() == began:
        restore(machine)
        time.sleep(CHECK_S)


def programs() -> list[int]:
    """Return a value that changes when files of these programs are replaced: when they or their folders changed."""
    return [each.stat().st_mtime_ns for each in sorted(Path(__file__).parents[1].iterdir())]


def restore(machine: LocalHost) -> None:
    """Write the table again if it is not what the record says, without units that are no longer installed."""
    for name, until in doors.read(machine).held_open.items():
        if until <= time.monotonic():
            say(f"{name}: the time on request is over; its port is closed if its server has not passed")
    try:
        plan = store.installed(machine)
        units, wanted = plan["units"], lists(machine, plan)
        wrong = wrong_units(machine, units)
    except (OSError, ValueError, RuntimeError):  # files are being replaced, or systemd is busy
        return
    pending = switch_state.readable(machine).pending is not None

    def renewed(found: Doors) -> Doors:
        kept = found if pending else found._replace(clients={}, egress={}, programs={})
        return current(joined(kept, wanted), [unit["name"] for unit in units])._replace(wrong=wrong)

    doors.change(machine, renewed)


def wrong_units(machine: LocalHost, units: list[dict[str, Any]]) -> dict[str, str]:
    """Return the ready units whose last answers were wrong, or whose group misses a node, with address:port."""
    places = {unit["name"]: unit["listen"] for unit in units if unit["listen"]}
    states = local.states(machine, [*places])
    ready = {name: state["StatusText"] for name, state in states.items() if state["ActiveState"] == "active"}
    wrong = {name for name, text in ready.items() if WRONG.search(text)}
    apart = {name for name in ready if machine.path(f"/run/{name}/{SILENT}").exists()}
    return {name: places[name] for name in sorted(wrong | apart)}


def current(found: Doors, names: list[str]) -> Doors:
    """Return the record without what has ended: units that are no longer installed, and times that are over."""
    owners = {owner: each for owner, each in found.peers.items() if owner[0] == "_" or f"sparkiac-{owner}" in names}
    return found._replace(
        closed={name: listen for name, listen in found.closed.items() if name in names},
        held_open={name: until for name, until in found.held_open.items() if until > time.monotonic()},
        peers=owners,
    )
