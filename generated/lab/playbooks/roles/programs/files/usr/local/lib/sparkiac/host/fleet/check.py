"""Check every endpoint of the fleet, and send one message when something changes.

fleet_check [--config FILE] checks the endpoints of FILE (default /etc/sparkiac/fleet.json) once; a systemd timer runs
it. It sends one message about everything that has failed or works again since its last run, a reminder once a day
while something fails, and nothing else. A message that a channel does not accept is sent again by the next run.

systemd sets the directories of its state and its secrets: STATE_DIRECTORY, RUNTIME_DIRECTORY, CREDENTIALS_DIRECTORY.
Exit status: 0 checked, 1 a message or the state could not be sent or written (stderr says why), 2 usage.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from ..contract import validated
from ..local import secret_values
from . import ask
from . import channels as fleet_channels
from . import messages as fleet_messages
from . import state as fleet_state
from .ask import Result
from .channels import NotSentError
from .settings import FleetCheck
from .state import Moment, State, Store

CONFIG = Path("/etc/sparkiac/fleet.json")
OWN = "state of the fleet timer"
"""Entry about the disk of the timer's own host."""
LINKS = "/sys/class/net"
CABLE = "check the cable, and that the other host is on"


class Places(NamedTuple):
    """Directories that systemd sets."""

    state: Path
    memory: Path
    secrets: Path


def places() -> Places:
    """Return the directories from the environment; without systemd, there are no secrets and no state."""
    names = ("STATE_DIRECTORY", "RUNTIME_DIRECTORY", "CREDENTIALS_DIRECTORY")
    return Places(*(Path(os.environ.get(name, "/nonexistent")) for name in names))


class Run:
    """One check of the whole fleet."""

    def __init__(self, fleet: dict[str, Any], where: Places) -> None:
        """Read what the last run wrote."""
        self.where, self.store = where, Store(where.state, where.memory)
        disk = own(fleet["host"], OWN, str(where.state), f"free space on the disk of {fleet['host']}")
        self.links = {f"link {each} on {fleet['host']}": each for each in fleet["links"]}
        links = [own(fleet["host"], name, f"{LINKS}/{each}/operstate", CABLE) for name, each in self.links.items()]
        self.asked = fleet["endpoints"]
        self.fleet = {**fleet, "endpoints": [*self.asked, disk, *links]}
        self.secrets = secret_values(where.secrets)
        self.failed = False
        state, faults = self.store.load()
        names = {entry["name"] for entry in self.fleet["endpoints"]}
        channels = [name for name, settings in fleet["channels"].items() if settings is not None]
        self.records = {name: record for name, record in state.records.items() if name in names}
        self.unsent = {name: state.unsent.get(name, []) for name in channels}
        self.saved, self.run = state.saved, state.run + 1
        self.said: set[str] = set()
        for fault in faults:
            self.say(fault)

    def say(self, text: str) -> None:
        """Write a line to the journal, once in a run and without secrets."""
        if text not in self.said:
            sys.stderr.write(fleet_messages.clean(text, self.secrets) + "\n")
        self.said.add(text)

    def save(self) -> str:
        """Write the state; return why the disk cannot be written."""
        self.saved += 1
        try:
            fault = self.store.save(State(self.saved, self.run, self.records, self.unsent))
        except OSError as error:
            fault = f"the state cannot be written, so that the next run may send the same again: {error}"
        if fault:
            self.say(f"{OWN} fails: {fault}")
            self.failed = True
        return fault

    def check(self) -> None:
        """Check all endpoints, and keep a message for each channel if something has changed."""
        entries = self.fleet["endpoints"]
        found = {OWN: Result(self.save())}
        found |= {name: Result(link(each)) for name, each in self.links.items()}
        queued = {name: record.queued for name, record in self.records.items()}
        found.update(ask.check(self.asked, self.fleet["period_s"], self.where.secrets, queued))
        faults = {name: each.fault for name, each in found.items()}
        moment = Moment(self.run, time.time(), self.fleet["period_s"])
        changes = {}
        resting = resting_endpoints(entries, faults)
        for entry in [entry for entry in entries if entry["name"] not in resting]:
            fault = fleet_messages.clean(faults[entry["name"]], self.secrets)
            former, waiting = self.records.get(entry["name"]), found[entry["name"]].queued
            self.records[entry["name"]], change = fleet_state.observe(former, fault, moment, waiting)
            if change is not None:
                changes[entry["name"]] = change
            if fault:
                self.say(f"{entry['name']} fails: {fault}")
        if changes:
            working = sum(record.observed == fleet_state.WORKING for record in self.records.values())
            message = fleet_messages.message(self.fleet, changes, working, moment.time)
            for name, kept in self.unsent.items():
                self.unsent[name] = [*kept, message][-fleet_state.UNSENT :]
        self.save()

    def send(self) -> None:
        """Send the messages of each channel, the oldest first, until one is not accepted."""
        for name, messages in self.unsent.items():
            while messages:
                try:
                    settings = self.fleet["channels"][name]
                    fleet_channels.send(name, settings, messages[0], self.where.secrets, self.fleet["fleet"])
                except NotSentError as error:
                    self.say(f"{name} did not accept a message, the next run sends it again: {error}")
                    self.failed = True
                    break
                del messages[0]
                self.save()

    def report(self) -> None:
        """Tell the dead man's switch that this run has ended and that no message waits."""
        name = self.fleet["heartbeat"]
        if name is None or any(self.unsent.values()):
            return
        try:
            fleet_channels.ping(name, self.where.secrets)
        except NotSentError as error:
            self.say(f"the heartbeat was not accepted: {error}")
            self.failed = True


def own(host: str, name: str, place: str, remedy: str) -> dict[str, Any]:
    """Return an entry about the timer's own host, which needs no request."""
    return {"name": name, "host": host, "url": place, "turns": [], "promise": None, "remedy": remedy}


def link(interface: str) -> str:
    """Return why a link does not work; the engine of a group may answer for minutes after its cable was cut."""
    try:
        state = Path(LINKS, interface, "operstate").read_text(encoding="ascii").strip()
    except OSError as error:
        state = str(error.strerror)
    return "" if state == "up" else f"the link is {state}"


def resting_endpoints(entries: list[dict[str, Any]], faults: dict[str, str]) -> set[str]:
    """Return the names of the endpoints that run only in other turns than the current one.

    The timer cannot read the state of other hosts. The turn whose endpoints fail least is taken as the current one.
    """
    turns = list(dict.fromkeys(turn for entry in entries for turn in entry["turns"]))
    if not turns:
        return set()
    current = min(turns, key=lambda turn: failing(entries, faults, turn))  # of equal turns, the first one
    return {entry["name"] for entry in entries if entry["turns"] and current not in entry["turns"]}


def failing(entries: list[dict[str, Any]], faults: dict[str, str], turn: str) -> float:
    """Return the share of the endpoints of a turn that fail; what always runs does not count."""
    found = [bool(faults[entry["name"]]) for entry in entries if turn in entry["turns"]]
    return sum(found) / len(found)


def main(argv: list[str]) -> int:
    """Check the fleet once and return the exit status."""
    parser = argparse.ArgumentParser(prog="fleet_check", description=__doc__.partition("\n")[0])
    parser.add_argument("--config", type=Path, default=CONFIG, metavar="FILE", help="(default: %(default)s)")
    path = parser.parse_args(argv).config
    try:
        fleet = validated("fleet_check", str(path), json.loads(path.read_text(encoding="utf-8")), FleetCheck)
        run = Run(fleet, places())
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    run.check()
    run.send()
    run.report()
    return 1 if run.failed else 0
