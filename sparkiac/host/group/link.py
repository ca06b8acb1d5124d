"""The connection that each worker of a group keeps to the leader.

A worker sends its host and its version of the group in one line of JSON. When all workers have sent the version of the
leader, the leader sends `go` to all of them; to another version it sends why the group does not start. After that, a
connection that ends, or a worker that connects again, shows that a node has ended. A link that is down for minutes ends
no connection. Both sides send an empty line every few seconds: without traffic, a host that starts again after a power
cut would not end the connections that it had before, and a node would not know that it does not reach another one.
"""

from __future__ import annotations

import json
import select
import socket
import time
from typing import Any

from ..contract import parsed

BEAT_S = 2.0
SILENT_S = 7.0
"""After so long without a line, a node is not reached. TCP sends again what a link that was down for 3 s has lost."""
CONNECT_S = 2.0
RETRY_S = 0.5
LIMIT_BYTES = 65_536
STRANGERS = 16
"""Connections that may be open before they have sent a host."""
GO, REFUSED = "go", "refused"


class Line:
    """One connection, on which both sides send lines of JSON."""

    def __init__(self, connection: socket.socket) -> None:
        """Take a connection."""
        connection.settimeout(0)
        self.connection, self.rest = connection, b""
        self.heard = time.monotonic()

    def fileno(self) -> int:
        """Return the file descriptor, for select()."""
        return self.connection.fileno()

    def send(self, value: object = None) -> None:
        """Send a value, or an empty line. If the connection has ended, the next receive() finds that."""
        text = "" if value is None else json.dumps(value)
        try:
            self.connection.send(f"{text}\n".encode())
        except OSError:
            return

    def receive(self) -> list[dict[str, Any]] | None:
        """Return the values that have arrived; None if the connection has ended, or if something else was sent."""
        try:
            data = self.connection.recv(LIMIT_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            return None
        self.heard = time.monotonic()
        *lines, self.rest = (self.rest + data).split(b"\n")
        try:
            found = [parsed(line) for line in lines if line]
        except ValueError:
            return None
        whole = bool(data) and len(self.rest) < LIMIT_BYTES and all(isinstance(each, dict) for each in found)
        return found if whole else None

    def close(self) -> None:
        """End the connection."""
        self.connection.close()


class Node:
    """What leader and workers have in common."""

    def __init__(self, node: dict[str, Any]) -> None:
        """Take the content of group.json."""
        self.node = node
        self.complete = False
        """Whether all nodes of the group have met."""
        self.fault = ""
        """Why this node must end."""
        self.beaten = time.monotonic()
        self.met: dict[str, Line] = {}
        """Connection to each worker, or to the leader."""

    def silent(self) -> list[str]:
        """Return the nodes of a group that has met which this one does not reach, although no connection has ended."""
        return [name for name, line in self.met.items() if self.complete and time.monotonic() - line.heard > SILENT_S]

    def beat(self, lines: list[Line]) -> None:
        """Send an empty line on each connection if that was not done for some seconds."""
        if time.monotonic() - self.beaten >= BEAT_S:
            self.beaten = time.monotonic()
            for line in lines:
                line.send()

    def close(self) -> None:
        """End the connections."""
        for line in self.met.values():
            line.close()


class Leader(Node):
    """The node to which all others connect."""

    def __init__(self, node: dict[str, Any]) -> None:
        """Listen."""
        super().__init__(node)
        family = socket.AF_INET6 if ":" in node["address"] else socket.AF_INET
        self.server = socket.create_server((node["address"], node["port"]), family=family)
        self.server.settimeout(0)
        self.strangers: list[Line] = []

    def waiting(self) -> str:
        """Return for which nodes this one waits."""
        return f"waiting for {', '.join(name for name in self.node['workers'] if name not in self.met)} to start"

    def step(self, seconds: float) -> None:
        """Wait for connections and lines, at most for so long."""
        lines = [*self.strangers, *self.met.values()]
        self.beat(lines)
        watched: list[socket.socket | Line] = [self.server, *lines]
        ready, _, _ = select.select(watched, [], [], seconds)
        for line in [line for line in lines if line in ready]:
            self._hear(line, line.receive())
        if self.server in ready:
            self._accept()
        if not self.complete and not self.fault and len(self.met) == len(self.node["workers"]):
            self.complete = True
            for line in self.met.values():
                line.send({GO: True})

    def _accept(self) -> None:
        try:
            connection, _ = self.server.accept()
        except OSError:  # it has ended before it was accepted
            return
        self.strangers.append(Line(connection))
        if len(self.strangers) > STRANGERS:
            self.strangers.pop(0).close()

    def _hear(self, line: Line, values: list[dict[str, Any]] | None) -> None:
        if values is None:
            self._drop(line)
        elif values and line in self.strangers:
            self.strangers.remove(line)
            self._join(line, str(values[0].get("host")), str(values[0].get("version")))

    def _drop(self, line: Line) -> None:
        line.close()
        self.strangers = [each for each in self.strangers if each is not line]
        for name in [name for name, each in self.met.items() if each is line]:
            del self.met[name]
            if self.complete:
                self.fault = f"{name} has ended: all nodes of the group end and start again"

    def _join(self, line: Line, name: str, version: str) -> None:
        if name not in self.node["workers"]:
            line.send({REFUSED: f"{self.node['host']} has no node of this group on {name}: apply again"})
            line.close()
        elif self.complete:
            line.close()
            self.fault = f"{name} has started again: all nodes of the group end and start again"
        elif version != self.node["version"]:
            own = f"{self.node['host']} version {self.node['version']}"
            self.fault = f"{name} starts version {version} of the group, and {own}: apply to all hosts of the group"
            line.send({REFUSED: self.fault})
            line.close()
        else:
            if name in self.met:  # its host lost power while it waited
                self.met[name].close()
            self.met[name] = line

    def close(self) -> None:
        """End all connections."""
        super().close()
        for line in self.strangers:
            line.close()
        self.server.close()


class Worker(Node):
    """A node that connects to the leader."""

    def waiting(self) -> str:
        """Return for which nodes this one waits."""
        if not self.met:
            return f"waiting for the leader {self.node['leader']} to start"
        return f"waiting for the other workers of {self.node['leader']} to start"

    def step(self, seconds: float) -> None:
        """Connect, or wait for a line, at most for so long."""
        if not self.met:
            self._connect()
            return
        [line] = self.met.values()
        self.beat([line])
        if not select.select([line], [], [], seconds)[0]:
            return
        values = line.receive()
        if values is None:
            self._lost()
        for value in values or ():
            self.complete = self.complete or value.get(GO) is True
            self.fault = self.fault or str(value.get(REFUSED, ""))

    def _connect(self) -> None:
        try:
            connection = socket.create_connection((self.node["address"], self.node["port"]), timeout=CONNECT_S)
        except OSError:
            time.sleep(RETRY_S)
            return
        self.met[self.node["leader"]] = line = Line(connection)
        line.send({"host": self.node["host"], "version": self.node["version"]})

    def _lost(self) -> None:
        self.close()
        self.met.clear()
        if self.complete:
            self.fault = f"{self.node['leader']} has ended: all nodes of the group end and start again"
        else:
            time.sleep(RETRY_S)
