"""Read a machine over SSH: memory, driver, disks and high-speed ports.

Parts of the preflight are sent there. Nothing is installed on the machine or changed there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Interface
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator

from sparkiac.fleet.facts import Software
from sparkiac.fleet.query import THREADS, HostFailure, SshEndpoint, run
from sparkiac.model.answers import Number, ReportedFacts, Text, shown
from sparkiac.model.inventory import FabricLink
from sparkiac.upstream import parallel, programs
from sparkiac.upstream.programs import ProgramError

Links = tuple[FabricLink, ...]
Reply = TypeVar("Reply", bound=ReportedFacts)

_TIMEOUT_S: Final = 120
"""Each of up to four ports listens 3 s for its neighbours, and nvidia-smi is slow without its persistence daemon."""
_DOCKER: Final = "/var/lib/docker"
"""Directory of docker's images."""


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

    def read(host: SshEndpoint) -> HostPorts | HostFailure:
        try:
            return _ports(host, hosts[host], neighbours=neighbours)
        except HostFailure as failure:
            return failure

    done = {host.name: result for host, result in parallel.each(hosts, read, threads=THREADS)}
    return {host.name: done[host.name] for host in hosts}


def _ports(host: SshEndpoint, links: Links, *, neighbours: bool) -> HostPorts:
    named = sorted({link.interface for link in links})
    sent = programs.bundled("sent.ports", *named, *(("neighbours",) if neighbours else ()))
    return _reply(host, sent, HostPorts, "its ports")


def _reply(host: SshEndpoint, sent: programs.Bundle, shape: type[Reply], what: str) -> Reply:
    """Return what a program prints that is sent to a host. Raises HostFailure."""
    done = run(host, ("python3", *sent.words), sent.text, timeout_s=_TIMEOUT_S)
    if done.returncode:
        output = shown(programs.last_line(done.stderr, f"exit status {done.returncode}"))
        raise HostFailure(f"{what} cannot be read: {output}", "check that python3 is installed there")
    try:
        return shape.of_output(done.stdout)
    except ValueError as error:
        raise HostFailure(str(error), "check what a login on the host prints") from None


class FreeDisk(ReportedFacts):
    """A directory and the free bytes of its disk."""

    path: Text
    free_bytes: Number


class Machine(ReportedFacts):
    """Facts about a machine. None stands for an unknown value, with the reason in `unknown`."""

    name: Text | None
    architecture: Text | None
    memory_bytes: Number | None
    gpus: tuple[tuple[Text, Text, Text], ...] | None
    """Name, compute capability and driver version of each GPU."""
    disks: tuple[FreeDisk, ...] | None
    software: Software | None = None
    users: tuple[tuple[Text, Text], ...] | None = None
    """Login and full name of each person with an account."""
    unknown: dict[Text, Text]


def read(host: SshEndpoint) -> Machine:
    """Read a machine. Raises HostFailure."""
    return _reply(host, programs.bundled("sent.facts"), Machine, "its software")


def software(hosts: Iterable[SshEndpoint]) -> Iterator[tuple[SshEndpoint, Software | HostFailure]]:
    """Read the software of hosts that belongs together, at the same time."""

    def attempt(host: SshEndpoint) -> Software | HostFailure:
        try:
            found = read(host)
        except HostFailure as failure:
            return failure
        return found.software or HostFailure(f"its software cannot be read: {found.unknown.get('software')}")

    return parallel.each(hosts, attempt, threads=THREADS)


def inspect(target: str, *, store: str) -> Machine:
    """Read the machine at `target`, [USER@]ADDRESS, which must accept ssh without a password. Raises ProgramError."""
    sent = programs.bundled("sent.facts", _DOCKER, store)
    try:
        done = programs.run(target, ("python3", *sent.words), program=sent.text, timeout_s=_TIMEOUT_S)
    except ProgramError as error:
        raise ProgramError(f"{target}: {error}; try `ssh {target} true`, or use --host") from None
    if done.returncode != 0:
        raise ProgramError(_reason(target, done.returncode, done.stderr))
    try:
        return Machine.of_output(done.stdout)
    except ValueError as error:
        raise ProgramError(f"{target}: {error}; check what a login there prints") from None


def _reason(target: str, code: int, output: str) -> str:
    last = programs.last_line(output, f"exit code {code}")
    if code == programs.FAILED:
        return f"no ssh connection to {target}: {last}; it must work without a password: `ssh-copy-id {target}`"
    if code == programs.NO_COMMAND:
        return f"{target} has no python3: {last}; install it, or use --host NAME=ADDRESS"
    return f"{target} could not be read: {last}"
