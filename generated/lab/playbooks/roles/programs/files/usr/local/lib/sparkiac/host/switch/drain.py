"""Drain a unit before it is stopped: refuse new connections to its port, and wait until it has answered all requests.

The table `sparkiac_drain` of nftables rejects the first packet (SYN) of a connection; connections that exist go on. The
hook prerouting sees packets for published ports before Docker rewrites them, and those for programs of the host. The
hook output sees the traffic of the host itself, except that of root: root runs the gate, the health checks of a
container in the network of the host, and this program. Containers that share a Docker network with the unit reach it
without its port on the host; they are not refused.
"""

from __future__ import annotations

import http.client
import json
import time
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from .. import local as units_host
from .. import series
from ..local import LocalHost

TABLE = "inet sparkiac_drain"
RULES = "/run/sparkiac/drain.nft"
POLL_S = 0.5
METRICS_TIMEOUT_S = 2
CHUNK_BYTES = 1 << 16
OK = 200
SYN = "tcp flags & (fin | syn | rst | ack) == syn"
REFUSED = "reject with tcp reset"
SETS = {
    "places4": ("ipv4_addr . inet_service", "ip daddr . tcp dport @places4"),
    "places6": ("ipv6_addr . inet_service", "ip6 daddr . tcp dport @places6"),
    "ports": ("inet_service", "fib daddr type local tcp dport @ports"),
}
"""Set → its type, and what it matches. `ports` has the ports of units that listen on all addresses."""
CHAINS = (("arriving", "prerouting", 'iifname != "lo"'), ("leaving", "output", "meta skuid != 0"))
ESTABLISHED = "01"


class Drained(NamedTuple):
    """How the drain of a unit ended."""

    unit: str
    running: int
    """Requests, or for an engine without metrics connections, that still ran at the end."""
    seconds: int
    refused: bool
    """Whether new connections were refused; false without nftables."""

    def line(self) -> str:
        """Return one line for a report."""
        left = f"{self.running} requests or connections were left after {self.seconds} s"
        without = "" if self.refused else "; new connections were not refused, because nft does not work on this host"
        return f"{self.unit}: {left if self.running else f'drained in {self.seconds} s'}{without}"


def drain(machine: LocalHost, units: list[dict[str, Any]], within_s: int) -> list[Drained]:
    """Refuse new connections to the units and wait until they are idle twice in a row, at most `within_s` seconds."""
    todo = [unit for unit in units if unit["listen"] is not None]
    began = time.monotonic()
    refused = bool(todo) and load(machine, [*_table(), *_elements("add", todo)])
    idle = {unit["name"]: 0 for unit in todo}
    done: dict[str, Drained] = {}
    while len(done) < len(todo):
        late = time.monotonic() - began >= within_s
        for unit in [unit for unit in todo if unit["name"] not in done]:
            name, running = unit["name"], running_of(machine, unit)
            idle[name] = 0 if running else idle[name] + 1
            if late or idle[name] > 1:
                done[name] = Drained(name, running, round(time.monotonic() - began), refused)
        if len(done) < len(todo):
            time.sleep(min(POLL_S, max(0.0, began + within_s - time.monotonic())))
    return [done[unit["name"]] for unit in todo]


def undrain(machine: LocalHost, units: list[dict[str, Any]] | None = None) -> None:
    """Accept connections to these units again, or with None to all."""
    if units is not None:
        load(machine, [*_table(), *_elements("add", units), *_elements("delete", units)])
    if units is None or not drained(machine):
        load(machine, [f"add table {TABLE}", f"delete table {TABLE}"])


def drained(machine: LocalHost) -> list[str]:
    """Return the addresses and ports whose new connections are refused, sorted."""
    try:
        done = machine.run("nft", "--json", "list", "table", *TABLE.split())
    except OSError:
        return []
    if done.code:  # there is no such table
        return []
    sets = [entry["set"] for entry in json.loads(done.output)["nftables"] if "set" in entry]
    return sorted(_shown(each) for found in sets for each in found.get("elem", []))


def _shown(element: dict[str, Any] | int) -> str:
    address, port = ("*", element) if isinstance(element, int) else element["concat"]
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def load(machine: LocalHost, commands: list[str]) -> bool:
    """Execute commands of nft as one transaction; return whether that worked."""
    units_host.write(machine, RULES, "\n".join(commands) + "\n")
    try:
        return machine.run("nft", "--file", str(machine.path(RULES))).code == 0
    except OSError:
        return False


def _table() -> list[str]:
    """Return the commands that create the table if it is missing; its sets keep their elements."""
    found = [f"add table {TABLE}"]
    found += [f"add set {TABLE} {name} {{ type {kind}; }}" for name, (kind, _) in SETS.items()]
    for chain, hook, where in CHAINS:
        found.append(f"add chain {TABLE} {chain} {{ type filter hook {hook} priority -300; policy accept; }}")
        found.append(f"flush chain {TABLE} {chain}")
        found += [f"add rule {TABLE} {chain} {where} {match} {SYN} {REFUSED}" for _, match in SETS.values()]
    return found


def _elements(verb: str, units: list[dict[str, Any]]) -> list[str]:
    """Return a command that adds or deletes each place, once: a second deletion of a place would fail."""
    places = dict.fromkeys(place for unit in units if (place := place_of(unit)))
    return [f"{verb} element {TABLE} {_element(*place)}" for place in places]


def _element(address: str, port: int) -> str:
    parsed = ip_address(address)
    if parsed.is_unspecified:
        return f"ports {{ {port} }}"
    return f"places{parsed.version} {{ {parsed} . {port} }}"


def place_of(unit: dict[str, Any]) -> tuple[str, int] | None:
    """Return address and port on which a unit accepts connections, if it does."""
    if unit["listen"] is None:
        return None
    address, _, port = unit["listen"].rpartition(":")
    return address.strip("[]"), int(port)


def running_of(machine: LocalHost, unit: dict[str, Any]) -> int:
    """Return how many requests a unit runs and queues; for an engine without metrics, its open connections."""
    found = series.values(metrics(machine, unit["promise"]) if unit["promise"] else "")
    counts = [sum(found[name]) for name in (*series.RUNNING, *series.WAITING) if name in found]
    return round(sum(counts)) if counts else connections(machine, unit)


def metrics(machine: LocalHost, promise: dict[str, Any]) -> str:
    """Return the metrics of an engine, or an empty text if it does not answer in time or has none."""
    if promise["url"] is None:
        return ""
    parts = urlsplit(promise["url"])
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=METRICS_TIMEOUT_S)
    try:
        headers = authorization(machine, promise["api_key"])
        connection.request("GET", parts.path.rstrip("/") + "/metrics", headers=headers)
        answer = connection.getresponse()
        return body(answer) if answer.status == OK else ""
    except (OSError, http.client.HTTPException):
        return ""
    finally:
        connection.close()


def authorization(machine: LocalHost, secret: str | None) -> dict[str, str]:
    """Return the header with the API key that this host stores."""
    return {"Authorization": "Bearer " + machine.read(f"{units_host.SECRETS}/{secret}").strip()} if secret else {}


def body(answer: http.client.HTTPResponse) -> str:
    """Read a response; raise TimeoutError if the server sends it too slowly."""
    limit, parts = time.monotonic() + METRICS_TIMEOUT_S, []
    while part := answer.read1(CHUNK_BYTES):
        parts.append(part)
        if time.monotonic() > limit:
            raise TimeoutError
    return b"".join(parts).decode("utf-8", "replace")


def connections(machine: LocalHost, unit: dict[str, Any]) -> int:
    """Return the open connections to the port of a unit: to a process of the host, or to a published port."""
    place = place_of(unit)
    return max(sockets(machine, place[1]), forwarded(machine, *place)) if place else 0


def sockets(machine: LocalHost, port: int) -> int:
    """Return the established connections that processes of the host have accepted on a port."""
    lines = [line.split() for name in ("tcp", "tcp6") for line in machine.lines(f"/proc/net/{name}")]
    local = [fields[1] for fields in lines if fields[3:4] == [ESTABLISHED]]
    return sum(int(address.rpartition(":")[2], 16) == port for address in local)


def forwarded(machine: LocalHost, address: str, port: int) -> int:
    """Return the established connections to a port that the kernel tracks, also those that Docker forwards."""
    anywhere = ip_address(address).is_unspecified
    found = 0
    for line in machine.lines("/proc/net/nf_conntrack"):
        words = dict(word.split("=", 1) for word in reversed(line.split()) if "=" in word)  # the first of each counts
        to_unit = words.get("dport") == str(port) and (anywhere or ip_address(words["dst"]) == ip_address(address))
        found += " ESTABLISHED " in line and to_unit
    return found
