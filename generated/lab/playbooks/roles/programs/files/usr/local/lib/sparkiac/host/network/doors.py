"""The tables `sparkiac` of nftables: ports that take no new connections, and ports that are open for peers only.

Its sets are `closed` (units whose server has not passed yet, gives wrong answers, or whose group does not reach a node)
and `drained` (units that are about to stop), each by address and port for IPv4 and IPv6, and by port for units that
listen on all addresses. A port with a list of clients has two more sets, `clients4_PORT` and `clients6_PORT`; to others
it is closed. The rules match the first packet (SYN) of a connection, so that none that exists is cut.

The hook prerouting sees packets for published ports before Docker rewrites them, and those for programs of the host.
The hook output sees the traffic of the host itself, except that of root: root runs the gate and the health checks of a
container in the network of the host.

Containers that share a Docker network with a unit reach it through the bridge, without its port on the host and without
those hooks, unless br_netfilter is loaded and set. The table `bridge sparkiac` refuses them by the MAC address of the
container that is closed or drained. It also refuses what a container sends that may not connect to everything, except
answers. What programs of the host send that may not connect to everything is refused in the hook output, by their
control group.

The record in /run says what the tables have. Each change writes them whole in one transaction.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple

from .. import local
from ..generation import Clients
from ..local import LocalHost
from . import rules
from .nft import DoorsError, nft
from .rules import BRIDGES, FORMER_DRAIN, FORMER_PEERS, REFUSALS, TABLE, ControlGroup, PeerPorts, split

RULES, RECORD, LOCK = (f"/run/sparkiac/doors.{kind}" for kind in ("nft", "json", "lock"))
KEEPER = "sparkiac-doors"
"""Unit that writes the table again if somebody else has changed it."""
PROGRAM = "/usr/local/lib/sparkiac/switch"
KEPT = ("--property=Restart=always", "--property=RestartSec=1", "--property=StartLimitIntervalSec=0")
SSH_PORT = 22
GROUPS = "/sys/fs/cgroup"
GROUP = re.compile(r"(?<=socket cgroupv2 level) \d+ \S+")
"""A control group in a listing: its path, or its number once its program has ended."""


class Doors(NamedTuple):
    """What the table has."""

    closed: Mapping[str, str] = {}
    """Unit → address:port of a server that has not passed since its start."""
    wrong: Mapping[str, str] = {}
    """Unit → address:port of a ready server whose last answers were wrong, or whose group does not reach a node."""
    held_open: Mapping[str, float] = {}
    """Unit → time of the monotonic clock until which its port is open although it has not passed."""
    drained: Mapping[str, str] = {}
    """Unit → address:port."""
    peers: Mapping[str, PeerPorts] = {}
    """Unit without prefix, or _PORT → ports that are open for peers only."""
    clients: Mapping[str, Clients] = {}
    """address:port → who may connect there; the host itself always may."""
    egress: Mapping[str, list[str]] = {}
    """Unit → networks and addresses that it may connect to."""
    programs: Mapping[str, ControlGroup] = {}
    """Running unit without a container, of those → its control group."""
    table: str = ""
    """The tables as nft lists them after they were written; empty if there are none."""

    @property
    def shut(self) -> dict[str, str]:
        """Return the units whose ports are closed now, with address:port."""
        places = {**self.wrong, **self.closed}
        return {unit: place for unit, place in places.items() if self.held_open.get(unit, 0.0) <= time.monotonic()}


RECORDS = {"peers": PeerPorts, "clients": Clients, "programs": ControlGroup}


def close(machine: LocalHost, unit: str, listen: str) -> None:
    """Refuse new connections to a unit until it has passed."""
    change(machine, lambda doors: doors._replace(closed={**doors.closed, unit: listen}))


def passed(machine: LocalHost, unit: str, listen: str) -> None:
    """Accept connections to a unit; also for other units at its place, which cannot run at the same time."""
    change(machine, lambda doors: doors._replace(closed=without(doors.closed, [listen]), held_open=less(doors, unit)))


def less(doors: Doors, unit: str) -> dict[str, float]:
    """Return until when ports are held open, except that of a unit."""
    return {name: until for name, until in doors.held_open.items() if name != unit}


def without(places: Mapping[str, str], listens: Iterable[str]) -> dict[str, str]:
    """Return the units at other places."""
    gone = list(map(split, listens))
    return {unit: place for unit, place in places.items() if not any(meet(split(place), each) for each in gone)}


def meet(one: tuple[str, int], other: tuple[str, int]) -> bool:
    """Return whether two programs cannot listen at these places at the same time."""
    every = any(ip_address(address).is_unspecified for address, _ in (one, other))
    return one[1] == other[1] and (one[0] == other[0] or every)


def drain(machine: LocalHost, units: Mapping[str, str]) -> None:
    """Refuse new connections to units until they are undrained."""
    change(machine, lambda doors: doors._replace(drained={**doors.drained, **units}))


def undrain(machine: LocalHost, listens: Iterable[str] | None) -> None:
    """Accept connections at these places again, or with None at all."""
    change(
        machine,
        lambda doors: doors._replace(drained={} if listens is None else without(doors.drained, listens)),
    )


def admit(machine: LocalHost, owner: str, ports: Iterable[str], peers: Iterable[str]) -> None:
    """Let only these addresses connect to ports."""
    found = PeerPorts(list(ports), list(peers))
    change(machine, lambda doors: doors._replace(peers={**doors.peers, owner: found}))


def change(machine: LocalHost, edit: Callable[[Doors], Doors]) -> Doors:
    """Change the record, and write the table if it is not what the record says; raise DoorsError if that fails."""
    with locked(machine):
        before = read(machine)
        wanted, whole = running(machine, edit(before)), is_whole(machine, before)
        if wanted == before and whole:
            return before
        if not whole:
            local.say(f"table {TABLE} or {BRIDGES} was changed by another program; both are written again")
        refuse_ssh(machine, wanted)
        put(machine, wanted)
        wanted = wanted._replace(table=listed(machine))
        local.write(machine, RECORD, json.dumps({**wanted._asdict(), **named(wanted)}))
    if wanted.table and machine.path(PROGRAM).exists():  # systemd-run fails if it runs already
        machine.run("systemd-run", "--quiet", "--collect", f"--unit={KEEPER}", *KEPT, PROGRAM, "doors")
    return wanted


def running(machine: LocalHost, doors: Doors) -> Doors:
    """Return the record without programs that have ended or started again: nft refuses groups that are gone."""
    known = doors.programs.items()
    return doors._replace(programs={unit: each for unit, each in known if number(machine, each.path) == each.number})


def number(machine: LocalHost, group: str) -> int | None:
    """Return the inode of a control group; None if it does not exist."""
    path = machine.path(f"{GROUPS}/{group}")
    return path.stat().st_ino if path.exists() else None


def put(machine: LocalHost, doors: Doors) -> None:
    """Write the tables; raise DoorsError if that fails."""
    for refusal in REFUSALS:
        local.write(machine, RULES, "\n".join(commands(doors, refusal)) + "\n")
        try:
            nft(machine, "--file", str(machine.path(RULES)))
        except DoorsError:
            if refusal == REFUSALS[-1]:
                raise
        else:
            return


def commands(doors: Doors, refusal: str) -> list[str]:
    """Return the commands that write the tables."""
    refused = {"closed": [*doors.shut.values()], "drained": [*doors.drained.values()]}
    of_programs = [*rules.from_programs(doors.programs, doors.egress)]
    found = rules.commands(refused, doors.peers, doors.clients, of_programs)
    contained = {unit: networks for unit, networks in doors.egress.items() if unit not in doors.programs}
    return [*found, *rules.of_bridges([*doors.shut, *doors.drained], contained, refusal)]


def named(doors: Doors) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the records in the record as JSON."""
    records: dict[str, Mapping[str, Any]] = {key: getattr(doors, key) for key in RECORDS}
    return {key: {name: each._asdict() for name, each in found.items()} for key, found in records.items()}


@contextlib.contextmanager
def locked(machine: LocalHost) -> Iterator[None]:
    """Keep other programs from changing the table."""
    path = machine.path(LOCK)
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def read(machine: LocalHost) -> Doors:
    """Return the record; an empty one if there is none, or one that this version does not know."""
    found = local.read_record(machine, RECORD, Doors, {"clients": {}, "egress": {}, "programs": {}})
    if found is None:
        return Doors()
    for key, record in RECORDS.items():
        found[key] = {name: record(**each) for name, each in found[key].items()}
    return Doors(**found)


def is_whole(machine: LocalHost, doors: Doors) -> bool:
    """Return whether the tables are as they were written."""
    return not doors.table or listed(machine) == doors.table


def listed(machine: LocalHost) -> str:
    """Return the tables as nft lists them; an empty text if there are none."""
    found = ""
    for table in (TABLE, BRIDGES):
        with contextlib.suppress(DoorsError):
            found += nft(machine, "--stateless", "list", "table", *table.split())
    return GROUP.sub("", found)


def refuse_ssh(machine: LocalHost, doors: Doors) -> None:
    """Raise DoorsError if a port is that of the SSH server."""
    listens = [*doors.closed.values(), *doors.wrong.values(), *doors.drained.values(), *doors.clients]
    ports = [listen.rpartition(":")[2] for listen in listens]
    ranges = [each.partition("-") for each in (*ports, *(port for each in doors.peers.values() for port in each.ports))]
    for port in ssh_ports(machine) if ranges else ():
        if any(int(first) <= port <= int(last or first) for first, _, last in ranges):
            raise DoorsError(f"port {port} is the SSH port of this host, which is never closed: choose another port")


def ssh_ports(machine: LocalHost) -> set[int]:
    """Return the ports of the SSH server, from its settings and its socket unit; 22 if neither names one."""
    found = []
    for pattern, argv in (
        (r"^port (\d+)$", ("sshd", "-T", "-C", "user=root,host=localhost,addr=127.0.0.1")),
        (r":(\d+) \(Stream\)", ("systemctl", "show", "--property=Listen", "ssh.socket")),
    ):
        with contextlib.suppress(OSError):
            found += re.findall(pattern, machine.run(*argv).output, re.MULTILINE)
    return {int(port) for port in found} or {SSH_PORT}


def tables(machine: LocalHost) -> list[str]:
    """Return our tables, with those of former versions."""
    try:
        found = json.loads(nft(machine, "--json", "list", "tables") or "{}").get("nftables", [])
    except DoorsError:
        return []
    names = sorted(f"{entry['table']['family']} {entry['table']['name']}" for entry in found if "table" in entry)
    return [name for name in names if name in {TABLE, BRIDGES, FORMER_DRAIN} or name.startswith(FORMER_PEERS)]
