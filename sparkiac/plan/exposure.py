"""Who can reach what: every port that a host opens for sparkiac, for whom, and what a server answers without a key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from sparkiac import engines
from sparkiac.catalog import interfaces
from sparkiac.model.monitoring import Monitoring
from sparkiac.plan.container import Container, Program
from sparkiac.plan.links import every_address
from sparkiac.plan.parts import PortClients
from sparkiac.plan.placement import PlacedHost
from sparkiac.plan.topology import EVERY, LOOPBACK
from sparkiac.plan.values import HostPlan, Plan

COPIES: Final = 7347
"""Port at which a host hands weights and images to others; `stage_share_port` of the playbooks."""


class OpenPort(NamedTuple):
    """A port of a host, or a range of them."""

    host: str
    unit: str
    """Name of the deployment or service; empty for ports of sparkiac itself."""
    port: str
    reach: str
    """Who can connect."""
    key: str | None = None
    """Secret with the key that requests need; None if they need none."""
    keyless: tuple[str, ...] = ()
    """Paths that the server answers without that key, as far as they are known."""


def clients(host: PlacedHost, placed: Iterable[PlacedHost], watching: Monitoring) -> dict[str, PortClients]:
    """Return unit → who may connect to it, for units of a host with a list that others would reach."""
    watchers = {each.hosts for each in (watching.prometheus, watching.timer) if each is not None}
    others = [each for each in placed if each.name != host.name]
    listed = (unit for unit in host.units if unit.network.clients is not None and _is_open(unit))
    return {unit.unit: _clients(unit, host, others, watchers) for unit in listed}


def _is_open(unit: Container | Program) -> bool:
    return unit.network.listen is not None and unit.network.listen[0] != LOOPBACK


def _clients(
    unit: Container | Program, host: PlacedHost, others: Iterable[PlacedHost], watchers: Collection[str]
) -> PortClients:
    def uses(other: PlacedHost) -> list[str]:
        dependents = (*other.units, *other.config_files)
        links = {each.name: [link for link in each.dependencies if not link.network] for each in dependents}
        return [name for name, found in links.items() if any(link.target == unit.path for link in found)]

    admitted = (each for each in others if each.name in watchers or uses(each))
    near = {each.name for each in host.containers if not each.network.host} & {*uses(host)}
    addresses = {each.name: every_address([each.values]) for each in admitted}
    return PortClients(unit.network.clients or (), addresses, tuple(sorted(near)))


class SecretReader(NamedTuple):
    """What reads a secret on a host."""

    host: str
    unit: str
    """Name of the deployment or service; empty for sparkiac itself, such as for the token of the hub."""
    alone: tuple[str, ...] = ()
    """Names that no other server serves: while this one restarts, nothing answers to them."""
    ready_s: int = 0
    """Most seconds of its start."""
    reloads: bool = False
    """Whether it reads the new value without a restart: the gateway."""


def readers(plan: Plan, secret: str) -> Iterator[SecretReader]:
    """Return everything that reads a secret, in the order of the inventory."""
    servers = Counter(name for host in plan.hosts for unit in host.units for name in _served(host, unit))
    for host in plan.hosts:
        found = [unit for unit in host.units if secret in {*unit.reloaded, *(each.name for each in unit.secrets)}]
        for unit in found:
            alone = tuple(name for name in _served(host, unit) if servers[name] == 1)
            yield SecretReader(host.name, unit.name, alone, unit.timeouts.ready_s, bool(unit.reloaded))
        if secret in host.secrets and not found:
            yield SecretReader(host.name, "")


def _served(host: HostPlan, unit: Container | Program) -> tuple[str, ...]:
    """Return the names that a unit serves itself; none at a worker of a group, nor at the gateway."""
    promise = host.promises.get(unit.unit)
    return promise.models if promise and promise.url and not unit.reloaded else ()


def of(host: HostPlan) -> tuple[OpenPort, ...]:
    """Return the ports of a host: those of its units, then those of sparkiac between hosts."""
    return (*(port for unit in host.units for port in _of_unit(host, unit)), *_between_hosts(host))


def _of_unit(host: HostPlan, unit: Container | Program) -> Iterator[OpenPort]:
    network = unit.network
    if network.listen is not None:
        address, port = network.listen
        promise = host.promises.get(unit.unit)
        key = promise.api_key if promise else None
        listed = host.clients.get(unit.unit)
        inside = network.shared if address == LOOPBACK or listed else None
        open_to = reach(host, address) if listed is None else admission(listed)
        who = f"{open_to}{f', containers in its Docker network {inside}' if inside else ''}"
        yield OpenPort(host.name, unit.name, str(port), who, key, keyless(unit) if key else ())
    if network.group_ports is not None:
        peers = ", ".join(network.group_ports.peers)
        yield from (OpenPort(host.name, unit.name, port, f"only {peers}") for port in network.group_ports.ports)
    else:
        yield from (OpenPort(host.name, unit.name, port, reach(host, address)) for address, port in network.opened)


def keyless(unit: Container | Program) -> tuple[str, ...]:
    """Return the paths that a server with a key answers without it; empty if they are unknown."""
    release = unit.image.vllm if isinstance(unit, Container) else None
    if unit.server.engine is None or release is None:
        return ()
    known = engines.named(unit.server.engine).keyless
    tried = [each for each in known if interfaces.release(each) <= interfaces.release(release)]
    return known[max(tried, key=interfaces.release)] if tried else ()


def admission(found: PortClients) -> str:
    """Return who can connect to a port with a list of clients."""
    hosts = (f"{name} ({', '.join(addresses)})" for name, addresses in found.hosts.items())
    return ", ".join(("this host", *found.listed, *hosts, *(f"the container of {name}" for name in found.units)))


def reach(host: HostPlan, address: str) -> str:
    """Return who can connect to a port that listens on an address of a host."""
    if address == LOOPBACK:
        return "this host"
    if address == EVERY:
        return "every network of this host"
    return "hosts on its direct link" if address in host.link_addresses else f"the network of {address}"


def _between_hosts(host: HostPlan) -> Iterator[OpenPort]:
    if host.copied_by:
        yield OpenPort(host.name, "", str(COPIES), f"only {', '.join(host.copied_by)}, during an apply")
    if host.group is not None and host.group.coordinator == host.name:
        yield OpenPort(host.name, "", str(host.group.port), f"only {', '.join(host.group.peers)}, during an apply")
