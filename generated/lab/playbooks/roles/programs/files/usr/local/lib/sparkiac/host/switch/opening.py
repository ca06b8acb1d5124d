"""When the port of a unit is open: closed at its start, open once its server has passed, or for a time on request.

While a node of a group does not reach another one, the port of its server is closed.
"""

from __future__ import annotations

import time
from ipaddress import ip_address
from typing import Any

from ..local import LocalHost, say
from ..network import doors
from ..network.doors import Doors, DoorsError
from . import store

SILENT = "silent"
"""File in the runtime directory of a node of a group: which nodes it does not reach. `supervise` reads it too."""
CHECK_S = 5
CHECKS = 86_400 // CHECK_S
"""After a day the program ends, and systemd starts the version that is installed then."""


def close(machine: LocalHost, plan: dict[str, Any], name: str) -> None:
    """Close the port of a unit that starts; raise DoorsError if that fails and other hosts would reach it."""
    for listen in listens(plan, name):
        try:
            doors.close(machine, name, listen)
        except DoorsError as error:
            address, port = doors.split(listen)
            fault = f"port {port} cannot be closed until the server has passed: {error}"
            if not plan["nft_optional"] and not ip_address(address).is_loopback:
                machine.run("systemd-notify", f"--status=starting {fault}")
                raise DoorsError(f"{fault}; or set `nft: optional` for this host") from None
            say(f"{name}: {fault}")


def passed(machine: LocalHost, plan: dict[str, Any], name: str) -> None:
    """Open the port of a unit whose server has passed."""
    for listen in listens(plan, name):
        doors.passed(machine, name, listen)


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
    """Look at the table every few seconds, and write it again if somebody else has changed it."""
    for _ in range(CHECKS):
        restore(machine)
        time.sleep(CHECK_S)


def restore(machine: LocalHost) -> None:
    """Write the table again if it is not what the record says, without units that are no longer installed."""
    for name, until in doors.read(machine).held_open.items():
        if until <= time.monotonic():
            say(f"{name}: the time on request is over; its port is closed if its server has not passed")
    try:
        units = store.installed(machine)["units"]
    except (OSError, ValueError):  # files are being replaced
        return
    groups = [unit for unit in units if unit["listen"] and machine.path(f"/run/{unit['name']}/{SILENT}").exists()]
    apart = {f"{unit['name']}/apart": unit["listen"] for unit in groups}
    doors.change(machine, lambda found: current(found, [unit["name"] for unit in units], apart))


def current(found: Doors, names: list[str], apart: dict[str, str]) -> Doors:
    """Return the record without what has ended: units that are no longer installed, and times that are over."""
    owners = {owner: each for owner, each in found.peers.items() if owner[0] == "_" or f"sparkiac-{owner}" in names}
    return found._replace(
        closed={**{name: listen for name, listen in found.closed.items() if name in names}, **apart},
        held_open={name: until for name, until in found.held_open.items() if until > time.monotonic()},
        peers=owners,
    )
