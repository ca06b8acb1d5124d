"""Read where the cables of hosts lead, for `sparkiac fabric discover` and `sparkiac init`."""

from __future__ import annotations

from collections.abc import Mapping

import click

from sparkiac.commands.fabric import draft
from sparkiac.fleet import machine
from sparkiac.fleet.fabric import discovery
from sparkiac.fleet.fabric.discovery import FoundLink
from sparkiac.fleet.machine import HostPorts
from sparkiac.fleet.query import HostFailure, SshEndpoint
from sparkiac.model.inventory import FabricLink


def links(hosts: Mapping[SshEndpoint, tuple[FabricLink, ...]]) -> dict[str, tuple[FoundLink, ...]]:
    """Return the links of each host that was read over SSH; print the other end of each, or that it is unknown."""
    read = known(machine.read_all(hosts, neighbours=True))
    for name, host in read.items():
        if host.ports is None:
            click.echo(f"{name}: its ports are unknown: {host.unknown.get('ports', 'no reason given')}", err=True)
    found = discovery.links({name: host for name, host in read.items() if host.ports is not None})
    for line in draft.summary(found):
        click.echo(line, err=True)
    return found


def known(read: Mapping[str, HostPorts | HostFailure]) -> dict[str, HostPorts]:
    """Return the hosts that were read; print why the others were not."""
    for name, found in read.items():
        if isinstance(found, HostFailure):
            click.echo(f"{name}: {found.reason}; {found.hint}", err=True)
    return {name: found for name, found in read.items() if not isinstance(found, HostFailure)}
