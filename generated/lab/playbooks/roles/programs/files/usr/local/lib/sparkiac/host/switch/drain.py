"""Drain a unit before it is stopped: refuse new connections to its port, and wait until its requests have ended."""

from __future__ import annotations

import contextlib
import http.client
import time
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from .. import local as units_host
from .. import series
from ..local import LocalHost
from ..network import doors, rules
from ..network.nft import DoorsError

POLL_S = 0.5
METRICS_TIMEOUT_S = 2
CHUNK_BYTES = 1 << 16
OK = 200
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
    refused = bool(todo) and refuse(machine, todo)
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
    with contextlib.suppress(DoorsError):  # without nft, nothing was refused
        doors.undrain(machine, None if units is None else [unit["listen"] for unit in units if unit["listen"]])


def drained(machine: LocalHost) -> list[str]:
    """Return the addresses and ports whose new connections are refused because of a drain, sorted."""
    return sorted({_shown(listen) for listen in doors.read(machine).drained.values()})


def _shown(listen: str) -> str:
    address, port = rules.split(listen)
    if ip_address(address).is_unspecified:
        return f"*:{port}"
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def refuse(machine: LocalHost, units: list[dict[str, Any]]) -> bool:
    """Refuse new connections to the units; return whether that worked."""
    try:
        doors.drain(machine, {unit["name"]: unit["listen"] for unit in units})
    except DoorsError:
        return False
    return True


def running_of(machine: LocalHost, unit: dict[str, Any]) -> int:
    """Return how many requests a unit runs and queues; for an engine without metrics, its open connections."""
    found = series.values(metrics(machine, unit["promise"]) if unit["promise"] else "")
    counts = [sum(found[name]) for name in (*series.RUNNING, *series.WAITING) if name in found]
    return round(sum(counts)) if counts else connections(machine, unit)


def metrics(machine: LocalHost, promise: dict[str, Any]) -> str:
    """Return the metrics of an engine, or an empty text if it does not answer in time or has none.

    The time is not limited by a signal, as the probe does: `status` asks several engines at once, in threads.
    """
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
    place = rules.split(unit["listen"]) if unit["listen"] else None
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
