"""`sparkiac fabric`: find the links between hosts, and check and measure them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sparkiac.commands.inputs import AS_JSON, CommandGroup, Exit, answer, link_speeds, links_path, planned, read, show
from sparkiac.commands.inventories import INVENTORY

if TYPE_CHECKING:
    from pathlib import Path

    from sparkiac.fleet.query import SshEndpoint
    from sparkiac.model.inventory import FabricLink, Inventory


@click.group(cls=CommandGroup)
def fabric() -> None:
    """Find the links between hosts, and check and measure them."""


@fabric.command()
@INVENTORY
@click.option("--write", is_flag=True, help="Write the links into INVENTORY instead of printing a patch.")
def discover(inventory: Path, *, write: bool) -> int:
    """Read the ports of all hosts of INVENTORY over SSH and print `fabric:` of each host as a patch for `git apply`.

    Ports that are cabled together are found by pings on each link. A link without an address gets a proposed one,
    marked by a comment; `fabric: {netplan: true}` makes `sparkiac network` set it.

    Exit codes: 0 the links are known, 1 a host was not read or has no link, 2 bad input, 6 the file cannot be written.
    """
    from sparkiac import pipeline
    from sparkiac.commands.fabric import draft
    from sparkiac.report import Report
    from sparkiac.write import replace

    # A group without links is an error of the inventory that this command resolves, so no plan is needed.
    loaded = pipeline.read_inventory(read(inventory)[0])
    if loaded.value is None:
        show(Report.of(loaded.findings), "text")
        return Exit.BAD_INPUT
    hosts = _endpoints(loaded.value)
    links = draft.links(hosts)
    before = inventory.read_bytes().decode()
    after, refused = draft.edited(before, links, {host.name: former for host, former in hosts.items()})
    for name, reason in refused.items():
        click.echo(f"{name}: not changed: {reason}", err=True)
    if not write:
        click.echo(draft.patch(inventory, before, after), nl=False)
    elif after != before:
        replace(inventory, after.encode())
    complete = len(links) == len(hosts) and all(links.values()) and not refused
    return Exit.OK if complete else Exit.FINDINGS


@fabric.command()
@INVENTORY
@click.option("--speed/--no-speed", default=True, help="Measure speeds too; default: yes. They load the links.")
@AS_JSON
def verify(inventory: Path, *, speed: bool, output_format: str) -> int:
    """Check the links of INVENTORY on its hosts, measure their speed and record it beside INVENTORY.

    Links, addresses, MTU from end to end, RDMA devices, GIDs, drivers, firmware and memory are compared. iperf3,
    ib_write_bw and NCCL's all_reduce_perf run between each pair of hosts that has them. `sparkiac check` warns if a
    link was slower in the last run than in the best one.

    Exit codes: 0 everything passed, 1 a check failed, 2 bad input, 6 a host was not read or the record not written.
    """
    plan = planned(inventory).plan
    from sparkiac.commands.fabric import draft
    from sparkiac.fleet import machine, query
    from sparkiac.fleet.fabric import measuring
    from sparkiac.model import records
    from sparkiac.write import replace

    read_hosts = machine.read_all({query.endpoint(host): host.links for host in plan.hosts if host.links})
    found = draft.known(read_hosts)
    steps, speeds = measuring.verify(plan, found, speed=speed)
    path, former = links_path(inventory), link_speeds(inventory) or records.LinkRecord()
    if speeds:
        replace(path, records.links_text(records.updated_links(former, speeds)).encode())
    from sparkiac.words import status as words

    answer(output_format, {"steps": [step._asdict() for step in steps]}, lambda _: words.links(steps))
    if len(found) < len(read_hosts):
        return Exit.IO
    return Exit.FINDINGS if any(step.passed is False for step in steps) else Exit.OK


def _endpoints(inventory: Inventory) -> dict[SshEndpoint, tuple[FabricLink, ...]]:
    """Return where the hosts of an inventory are reached, with their links."""
    from sparkiac.fleet.query import SshEndpoint
    from sparkiac.resolve.fabric import links_of

    found = {}
    for name, host in inventory.hosts.items():
        user, port = (host.ssh.user, host.ssh.port) if host.ssh else (None, None)
        found[SshEndpoint(name, host.address, user or inventory.defaults.user, port)] = links_of(host)
    return found
