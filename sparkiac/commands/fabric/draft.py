"""The links of hosts: where their cables lead, for `fabric discover` and `init`, and the inventory with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from sparkiac.fleet import fabric, machine
from sparkiac.fleet.fabric import FoundLink, lasting_address
from sparkiac.fleet.machine import HostPorts
from sparkiac.fleet.query import HostFailure, SshEndpoint
from sparkiac.model.inventory import FabricLink

_NOTHING: Final = "no link: no port with an RDMA device is up"
PROPOSED: Final = "proposed: the host has no such address yet"
"""Comment on a link with such an address."""


def links(hosts: Mapping[SshEndpoint, tuple[FabricLink, ...]]) -> dict[str, tuple[FoundLink, ...]]:
    """Return the links of each host that was read over SSH; print the other end of each, or that it is unknown."""
    read = known(machine.read_all(hosts, neighbours=True))
    for name, host in read.items():
        if host.ports is None:
            click.echo(f"{name}: its ports are unknown: {host.unknown.get('ports', 'no reason given')}", err=True)
    found = fabric.links({name: host for name, host in read.items() if host.ports is not None})
    for line in summary(found):
        click.echo(line, err=True)
    return found


def known(read: Mapping[str, HostPorts | HostFailure]) -> dict[str, HostPorts]:
    """Return the hosts that were read; print why the others were not."""
    for name, found in read.items():
        if isinstance(found, HostFailure):
            click.echo(f"{name}: {found.reason}; {found.hint}", err=True)
    return {name: found for name, found in read.items() if not isinstance(found, HostFailure)}


def summary(links: Mapping[str, Sequence[FoundLink]]) -> Iterator[str]:
    """Return one line for each link: where its cable leads."""
    for name, each in links.items():
        yield from (f"{name} {link.interface}: {_other_end(link)}" for link in each)
        if not each:
            yield f"{name}: {_NOTHING}"


def _other_end(link: FoundLink) -> str:
    if link.peers is None:
        return "other end unknown: its neighbours could not be read"
    if not link.peers:
        return "other end unknown: no host of this inventory answers there"
    ends = ", ".join(f"{host} {interface}" for host, interface in link.peers)
    return f"{'cabled to' if len(link.peers) == 1 else 'in one network with'} {ends}"


def edited(
    text: str, found: Mapping[str, Sequence[FoundLink]], former: Mapping[str, Sequence[FabricLink]]
) -> tuple[str, dict[str, str]]:
    """Return the inventory with the links of each host, and why a host was not changed."""
    from sparkiac.fix.edits import with_links
    from sparkiac.fix.nodes import CannotEdit

    refused = without_address(found)
    for name, links in found.items():
        stated = with_address(links)
        written = [data(link) for link in stated]
        if not written or written == [link.model_dump(mode="json", exclude_none=True) for link in former[name]]:
            continue
        comments = {index: PROPOSED for index, link in enumerate(stated) if link.proposed}
        try:
            text = with_links(text, name, written, comments)
        except CannotEdit as reason:
            refused[name] = str(reason)
    return text, refused


def with_address(links: Sequence[FoundLink]) -> tuple[FoundLink, ...]:
    """Return the links that an inventory can state."""
    return tuple(link for link in links if link.address is not None)


def without_address(found: Mapping[str, Sequence[FoundLink]]) -> dict[str, str]:
    """Return the hosts with links that an inventory cannot state, and why."""
    left = {name: [link.interface for link in links if link.address is None] for name, links in found.items()}
    return {
        name: f"{', '.join(interfaces)} has no IPv4 address, and its other end is unknown; give it an address"
        for name, interfaces in left.items()
        if interfaces
    }


def data(link: FoundLink) -> dict[str, Any]:
    """Return a link as the inventory states it."""
    values = {key: getattr(link, key) for key in ("interface", "hca", "address", "mtu", "speed_gbit")}
    twin = link.twin and {"interface": link.twin.interface, "hca": link.twin.hca, "address": lasting_address(link.twin)}
    return _known(values | {"twin": twin and _known(twin)})


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def patch(inventory: Path, before: str, after: str) -> str:
    """Return the change as a patch, with the path of the inventory in its Git repository, or as it was given."""
    from sparkiac.write.preview import diff_of

    path = inventory.resolve()
    top = next((each for each in path.parents if (each / ".git").exists()), Path.cwd())
    name = path.relative_to(top) if path.is_relative_to(top) else inventory
    return diff_of(str(name), before.encode(), after.encode())
