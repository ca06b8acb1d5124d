"""The high-speed ports of a host, read over SSH by a program that is sent there and changes nothing."""

from __future__ import annotations

from ipaddress import IPv4Interface
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import AfterValidator

from sparkiac.fleet.query import THREADS, HostFailure, SshEndpoint, run
from sparkiac.upstream import bundle, machine, parallel, ssh
from sparkiac.upstream.reported import Number, ReportedFacts, Text, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.model.inventory import FabricLink

    Links = tuple[FabricLink, ...]

_TIMEOUT_S: Final = 120
"""Time limit for one host. Each of up to four ports listens 3 s for its neighbours, and nvidia-smi may be slow."""


Address = Annotated[str, AfterValidator(lambda text: str(IPv4Interface(text)))]
"""An IPv4 address with prefix length."""


class RdmaInterface(ReportedFacts):
    """A network interface with an RDMA device."""

    interface: Text
    hca: Text | None
    mac: Text | None
    up: bool
    mtu: Number | None
    speed_mbit: Number | None
    firmware: Text | None
    addresses: tuple[Address, ...]
    gids: dict[Text, Text]
    """Index → GID of the RoCE v2 entries."""


class FabricPort(RdmaInterface):
    """A port: its first PCIe device, and the second one if it has two."""

    twin: RdmaInterface | None


class HostPorts(ReportedFacts):
    """What a host has for links to other hosts. None stands for an unknown value, with the reason in `unknown`."""

    ports: tuple[FabricPort, ...] | None
    neighbours: dict[Text, tuple[Text, ...]] | None
    """Interface → MAC addresses that it reaches without a router."""
    driver: Text | None
    memory_bytes: Number | None
    memlock_bytes: int | None
    """Limit on locked memory of a login; -1 without a limit."""
    tools: tuple[Text, ...] | None
    unknown: dict[Text, Text]

    @property
    def interfaces(self) -> dict[str, RdmaInterface]:
        """Return the interfaces of all ports, by name."""
        both = ((port, port.twin) for port in self.ports or ())
        return {each.interface: each for pair in both for each in pair if each is not None}


def read_all(hosts: Mapping[SshEndpoint, Links], *, neighbours: bool = False) -> dict[str, HostPorts | HostFailure]:
    """Read all hosts at the same time: their ports with an RDMA device, and the interfaces that their links name."""
    found = parallel.each(hosts, lambda host: _read(host, hosts[host], neighbours=neighbours), threads=THREADS)
    done = {host.name: result for host, result in found if isinstance(result, (HostPorts, HostFailure))}
    return {host.name: done[host.name] for host in hosts}


def _read(host: SshEndpoint, links: Links, *, neighbours: bool) -> HostPorts | HostFailure:
    late = HostFailure(f"no answer within {_TIMEOUT_S} s", "check the load of the host and the link", reachable=False)
    named = sorted({link.interface for link in links})
    sent = bundle.of("sent.ports", machine.PORTS, *named, *(("neighbours",) if neighbours else ()))
    done = run(host, ("python3", *sent.words), sent.text, timeout_s=_TIMEOUT_S, late=late)
    if isinstance(done, HostFailure):
        return done
    if done.returncode:
        output = shown(ssh.last_line(done.stderr, f"exit status {done.returncode}"))
        return HostFailure(
            f"its ports cannot be read: {output}", "check that python3 is installed there", reachable=True
        )
    try:
        return HostPorts.of_output(done.stdout)
    except ValueError as error:
        return HostFailure(str(error), "check what a login on the host prints", reachable=True)
