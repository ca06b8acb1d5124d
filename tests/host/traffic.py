"""A host between a client and two containers, in network namespaces, and programs that connect to each other."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sparkiac.host.generation import mac_address

if TYPE_CHECKING:
    from tests.namespaces import Namespaces

SERVE = """
import socket, sys, threading
def echo(connection):
    while data := connection.recv(100):
        connection.sendall(data)
for place in sys.argv[1:]:
    address, _, port = place.rpartition(":")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.create_server((address, int(port)), family=family)
    def serve(listening=listening):
        while True:
            threading.Thread(target=echo, args=(listening.accept()[0],), daemon=True).start()
    threading.Thread(target=serve, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""
CALL = """
import encodings.idna, os, socket, sys  # an interpreter below /root can load no more modules after setuid
os.setuid(int(sys.argv[1]))
held = {}
for line in sys.stdin:
    verb, place = line.split()
    address, _, port = place.rpartition(":")
    try:
        connection = held[place] if verb == "again" else socket.create_connection((address, int(port)), timeout=5)
        connection.sendall(b"x")
        print("ok" if connection.recv(1) == b"x" else "end", flush=True)
        if verb == "hold":
            held[place] = connection
    except OSError as error:
        print(type(error).__name__, flush=True)
"""
PUBLISH = """\
table ip docker {
  chain pre {
    type nat hook prerouting priority dstnat;
    iifname != "bridge" ip daddr 10.77.1.1 tcp dport 8001 dnat to 10.77.2.2:8000;
  }
  chain out { type nat hook output priority -100; ip daddr 10.77.1.1 tcp dport 8001 dnat to 10.77.2.2:8000; }
}
"""


CONTAINER, PROXY = "sparkiac-a", "10.77.1.1:8001"
"""Unit of the container; where a stand-in for docker-proxy listens, which serves other containers of its bridge."""
FORWARDING = ("/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding")
BRIDGED = "/proc/sys/net/bridge/bridge-nf-call"


@dataclass
class Network:
    """A host between a client and a container whose port 8000 it publishes as 8001; a neighbour is on its bridge."""

    spaces: Namespaces
    machine: Any
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, where: str, program: str, *words: str) -> subprocess.Popen[str]:
        """Start a Python program in a namespace."""
        argv = self.spaces.within(where, sys.executable, "-ISc", program, *words)
        pipe = subprocess.PIPE
        self.running.append(subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True))
        return self.running[-1]

    def build(self) -> None:
        """Connect the namespaces, publish the port of the container, and start servers on the host and in it."""
        self.spaces.cable(
            ("host", "client", "10.77.1.1/24", "fd77:1::1/64"), ("client", "up0", "10.77.1.2/24", "fd77:1::2/64")
        )
        self.spaces.ip_of("host", "link", "add", "bridge", "type", "bridge")
        self.spaces.ip_of("host", "address", "add", "10.77.2.1/24", "dev", "bridge")
        self.spaces.ip_of("host", "address", "add", "fd77:2::1/64", "dev", "bridge", "nodad")
        self.spaces.ip_of("host", "link", "set", "bridge", "up")
        for last, where in ((2, "container"), (3, "neighbour")):
            self.spaces.cable(("host", where), (where, "up0", f"10.77.2.{last}/24", f"fd77:2::{last}/64"))
            self.spaces.ip_of("host", "link", "set", where, "master", "bridge")
        self.spaces.ip_of("container", "link", "set", "up0", "address", mac_address(CONTAINER))
        for number, where in ((1, "client"), (2, "container"), (2, "neighbour")):
            for gateway in (f"10.77.{number}.1", f"fd77:{number}::1"):
                self.spaces.ip_of(where, "route", "add", "default", "via", gateway)
        self.spaces.ip_of("host", "address", "add", "10.77.1.9/24", "dev", "client")
        forward = self.spaces.within("host", "sh", "-c", f"echo 1 | tee {' '.join(FORWARDING)}")
        subprocess.run(forward, check=True, stdout=subprocess.DEVNULL)
        self.publish()
        for where, places in (
            ("container", ["0.0.0.0:8000", ":::8006"]),
            ("neighbour", ["0.0.0.0:8000"]),
            ("client", ["0.0.0.0:9100", ":::9106"]),
            ("host", ["0.0.0.0:9000", ":::9006", "0.0.0.0:9001", PROXY]),
        ):
            server = self.start(where, SERVE, *places)
            assert server.stdout
            assert server.stdout.readline() == "ready\n"

    def nft(self, *words: str, rules: str | None = None) -> str:
        """Run nft on the host."""
        argv = self.spaces.within("host", "nft", *words)
        return subprocess.run(argv, input=rules, stdout=subprocess.PIPE, text=True, check=True).stdout

    def publish(self) -> None:
        """Publish the port of the container."""
        self.nft("-f", "-", rules=PUBLISH)

    def filter_bridges(self, value: str) -> bool:
        """Set whether bridged packets also pass the rules for IP; return whether this kernel has that setting."""
        paths = " ".join(f"{BRIDGED}-{name}" for name in ("iptables", "ip6tables"))
        argv = self.spaces.within("host", "sh", "-c", f"for each in {paths}; do echo {value} >$each || exit; done")
        return subprocess.run(argv, check=False, stderr=subprocess.DEVNULL).returncode == 0

    def rules(self) -> str:
        """Return all rules of the host."""
        return self.nft("list", "ruleset")

    def end(self) -> None:
        """End the programs."""
        for each in self.running:
            each.kill()
            each.communicate()


class Caller:
    """A client that opens connections."""

    def __init__(self, network: Network, where: str, uid: int = 0) -> None:
        """Start it in a namespace, as a user."""
        self.process = network.start(where, CALL, str(uid))

    def call(self, verb: str, place: str) -> str:
        """Open a connection (`once`, `hold`), or use a held one (`again`); return ok or the error."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{verb} {place}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()
