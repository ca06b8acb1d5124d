"""The bed's network: namespaces of its own, joined to nothing outside.

The control station (10.77.0.1) and both hosts are plugged into a switch; the hosts have a second,
direct link, the fabric (10.78.0.1 and .2, MTU 9000). The guest (10.77.0.5) is another machine at the switch.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.bed.shell import run, wait_for

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTROL_ADDRESS = "10.77.0.1"
GUEST_ADDRESS = "10.77.0.5"
FABRIC_MTU = 9000  # what the fabric of two Sparks is run with


@dataclass(frozen=True)
class Host:
    """One host of a bed, as an inventory would describe it."""

    name: str
    address: str
    fabric_address: str
    interface: str
    """The management interface: that of `address`."""
    fabric_interface: str


# Interface names differ from host to host, as those of real Sparks do: a generator that takes one
# host's names for all is found out here.
HOSTS = (
    Host("spark-01", "10.77.0.11", "10.78.0.1", "enP7s7", "enp1s0f0np0"),
    Host("spark-02", "10.77.0.12", "10.78.0.2", "enx00e04c6802", "enP2p1s0f0np0"),
)


@dataclass(frozen=True)
class Network:
    """The namespaces of one bed, named by its prefix."""

    prefix: str

    def namespace(self, name: str) -> str:
        """Return the full name of the namespace of `control`, `guest`, `switch` or a host."""
        return f"{self.prefix}-{name}"

    @property
    def namespaces(self) -> list[str]:
        """Return the names of all namespaces of this bed."""
        return [self.namespace(name) for name in ("switch", "control", "guest", *(host.name for host in HOSTS))]

    def inside(self, argv: Sequence[str | Path], *, name: str = "control") -> list[str]:
        """Return the command that runs `argv` inside a namespace."""
        return ["ip", "netns", "exec", self.namespace(name), *map(str, argv)]

    def up(self) -> None:
        """Make the namespaces and the links."""
        for namespace in self.namespaces:
            run(["ip", "netns", "add", namespace])
            self._ip(namespace, "link set lo up")
        self._name_hosts()
        switch = self.namespace("switch")
        self._ip(switch, "link add br0 type bridge", "link set br0 up")
        self._plug("control", "mgmt0", CONTROL_ADDRESS)
        self._plug("guest", "eth0", GUEST_ADDRESS)
        for host in HOSTS:
            self._plug(host.name, host.interface, host.address)
            # Docker and Ansible look for the default route's interface; it leads nowhere.
            self._ip(self.namespace(host.name), f"route add default via {CONTROL_ADDRESS}")
        self._connect_fabric()

    def down(self) -> None:
        """End every process in the namespaces and remove them; the links go with them."""
        for namespace in self.namespaces:
            if (Path("/run/netns") / namespace).exists():
                self._end_processes(namespace)
                # Busy while another command has just copied all mounts, such as that of another bed.
                delete = ["ip", "netns", "delete", namespace]
                wait_for(lambda argv=delete: run(argv, check=False).returncode == 0, " ".join(delete), timeout=20)  # type: ignore[misc]
        shutil.rmtree(self._own_etc, ignore_errors=True)

    def set_fabric(self, state: str) -> None:
        """Cut the fabric link (`down`) or restore it (`up`)."""
        host = HOSTS[0]
        self._ip(self.namespace(host.name), f"link set {host.fabric_interface} {state}")

    def set_link(self, host: str, state: str) -> None:
        """Cut a host's management link at the switch (`down`) or restore it (`up`)."""
        self._ip(self.namespace("switch"), f"link set {host} {state}")

    def set_power(self, host: Host, state: str) -> None:
        """Unplug both links of a host (`down`), so that its end sends nothing, or plug them in again (`up`)."""
        self._ip(self.namespace("switch"), f"link set {host.name} {state}")
        self._ip(self.namespace(host.name), f"link set {host.fabric_interface} {state}")

    def forget_own(self, name: str) -> None:
        """Remove what a host itself has made in its network, as the end of its kernel would."""
        namespace = self.namespace(name)
        run(self.inside(["nft", "flush", "ruleset"], name=name))
        found = json.loads(run(["ip", "-n", namespace, "-json", "link", "show", "type", "bridge"]).stdout)
        for link in found:
            self._ip(namespace, f"link delete {link['ifname']}")

    @property
    def _own_etc(self) -> Path:
        # Files here lie over those in /etc for whatever `ip netns exec` runs.
        return Path("/etc/netns") / self.namespace("control")

    def _name_hosts(self) -> None:
        self._own_etc.mkdir(parents=True)
        names = [f"{host.address} {host.name}\n" for host in HOSTS]
        (self._own_etc / "hosts").write_text("".join(["127.0.0.1 localhost\n", *names]))
        # No name server: the machine's own is out of reach, and each look-up would wait for it.
        (self._own_etc / "resolv.conf").write_text("")

    def _plug(self, name: str, interface: str, address: str) -> None:
        namespace, switch = self.namespace(name), self.namespace("switch")
        self._ip(namespace, f"link add {interface} type veth peer name {name} netns {switch}")
        self._ip(switch, f"link set {name} master br0 up")
        self._ip(namespace, f"address add {address}/24 dev {interface}", f"link set {interface} up")

    def _connect_fabric(self) -> None:
        one, two = HOSTS
        self._ip(
            self.namespace(one.name),
            f"link add {one.fabric_interface} type veth"
            f" peer name {two.fabric_interface} netns {self.namespace(two.name)}",
        )
        for host in HOSTS:
            self._ip(
                self.namespace(host.name),
                f"address add {host.fabric_address}/24 dev {host.fabric_interface}",
                f"link set {host.fabric_interface} mtu {FABRIC_MTU} up",
            )

    def _ip(self, namespace: str, *commands: str) -> None:
        run(["ip", "-n", namespace, "-batch", "-"], input="".join(f"{line}\n" for line in commands))

    def _end_processes(self, namespace: str) -> None:
        # The registry, a test's command that was left, Ansible's ssh masters: all of them in a
        # namespace that this bed made, so nothing of anybody else's is among them.
        def gone() -> bool:
            processes = run(["ip", "netns", "pids", namespace]).stdout.split()
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
            return not processes

        wait_for(gone, f"the processes in {namespace} to end", timeout=20)
