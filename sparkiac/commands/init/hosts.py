"""The hosts of a new fleet: typed or read over ssh, with the direct links that groups need."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

import click

from sparkiac.commands import prompts
from sparkiac.commands.init.repository import FleetHost
from sparkiac.commands.inputs import reject
from sparkiac.fleet.fabric import FoundLink
from sparkiac.fleet.machine import RdmaInterface

_FIRST: Final = "First host, such as spark-01=192.168.1.11"
_ANOTHER: Final = "Another host, or empty to continue"
_LINK: Final = "HOST=INTERFACE,DEVICE,ADDRESS/PREFIX"
_SUCH: Final = "enp1s0f1np1,rocep1s0f1,192.168.177.11/24"


def read(named: Sequence[str], targets: Sequence[str], store: str) -> tuple[FleetHost, ...]:
    """Return the hosts of --host and --from-host, or of the prompt; at least one."""
    found: list[FleetHost] = []
    for text in named:
        found.append(_named(text, found))
    for target in targets:
        found.append(_measured(target, store, [host.name for host in found]))
    if not found:
        options = "--host NAME=ADDRESS or --from-host [USER@]ADDRESS"
        found.append(prompts.value(None, _FIRST, lambda text: _named(text, ()), options))
        while more := prompts.value(None, _ANOTHER, lambda text: _named(text, found) if text else None, default=""):
            found.append(more)
    return _cabled(found)


def _named(text: str, before: Sequence[FleetHost]) -> FleetHost:
    name, address = prompts.host(text)
    for host in before:
        if name == host.name or address == host.address:
            reject(f"--host names {name if name == host.name else address} twice")
    return FleetHost(name, address)


def _measured(target: str, store: str, taken: Sequence[str]) -> FleetHost:
    from sparkiac.fleet import machine
    from sparkiac.foreign.draft import slug, unused
    from sparkiac.upstream.programs import ProgramError

    user, _, address = target.rpartition("@")
    if user:
        prompts.parser("--from-host", "USER")(user)
    prompts.address("--from-host", address)
    try:
        found = machine.inspect(target, store=store)
    except ProgramError as error:
        reject(str(error))
    return FleetHost(unused(slug(found.name, "spark"), taken), address, found, user or None)


def _cabled(hosts: Sequence[FleetHost]) -> tuple[FleetHost, ...]:
    """Return the hosts; those that were read have the links that `sparkiac fabric discover` finds."""
    from sparkiac.commands.fabric import draft
    from sparkiac.fleet.query import SshEndpoint

    read = {SshEndpoint(host.name, host.address, host.user, None): () for host in hosts if host.machine is not None}
    found = draft.links(read)
    for name, reason in draft.without_address(found).items():
        click.echo(f"{name}: left out: {reason}", err=True)
    return tuple(host._replace(links=draft.with_address(found.get(host.name, ()))) for host in hosts)


def with_links(hosts: Sequence[FleetHost], given: Sequence[str]) -> tuple[FleetHost, ...]:
    """Return the hosts; the links of --link replace those that were found."""
    from sparkiac.commands.inputs import known

    typed: dict[str, list[FoundLink]] = {}
    for text in given:
        name, _, link = text.partition("=")
        typed.setdefault(known("host", name, [host.name for host in hosts]), []).append(_link(link))
    return tuple(host._replace(links=tuple(typed.get(host.name, host.links))) for host in hosts)


def grouped(hosts: Sequence[FleetHost], nodes: int, what: str) -> tuple[FleetHost, ...]:
    """Return the hosts; if `what` spans several, the first ones have links, from a prompt where they are unknown.

    Raises click.UsageError if there are too few hosts, or links are unknown and there is no terminal.
    """
    if len(hosts) < nodes:
        reject(f"{what} needs {nodes} hosts, but there are {len(hosts)}; add --host or --from-host")
    without = [host.name for host in hosts[:nodes] if nodes > 1 and not host.links]
    if without and not sys.stdin.isatty():
        reject(
            f"{what} needs {nodes} hosts, and the direct links of {', '.join(without)} are unknown; "
            f"use --from-host, which reads the links that are up, or --link {_LINK}"
        )
    return tuple(_with_link(host) if host.name in without else host for host in hosts)


def _with_link(host: FleetHost) -> FleetHost:
    label = f"Direct link of {host.name}, INTERFACE,DEVICE,ADDRESS/PREFIX, such as {_SUCH}"
    return host._replace(links=(prompts.value(None, label, _link, "--link"),))


def _link(text: str) -> FoundLink:
    from pydantic import ValidationError

    from sparkiac.model.inventory import FabricLink

    parts = text.split(",")
    try:
        link = FabricLink.model_validate(dict(zip(("interface", "hca", "address"), parts, strict=True)))
    except (ValueError, ValidationError):
        reject(f"--link {text!r} is not {_LINK}, such as spark-01={_SUCH}")
    return FoundLink(link.interface, link.hca, str(link.address), twin=_twin(link.interface))


def _twin(interface: str) -> RdmaInterface | None:
    """Return the other half of the port of a Spark, whose names are known without a look at the host."""
    from sparkiac import catalog

    known = catalog.platform(catalog.DEFAULT_PLATFORM)
    half = known.valid.twin(interface) if known else None
    if half is None:
        return None
    unread = dict.fromkeys(("mac", "mtu", "speed_mbit", "firmware"))
    return RdmaInterface(interface=half.interface, hca=half.hca, up=True, addresses=(), gids={}, **unread)
