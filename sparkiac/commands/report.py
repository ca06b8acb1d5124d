"""`sparkiac report`: write what somebody else needs to help with a host, without secrets and names."""

from __future__ import annotations

import getpass
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sparkiac.commands import completion
from sparkiac.commands.inputs import Exit, known, planned, reject
from sparkiac.commands.inventories import INVENTORY

if TYPE_CHECKING:
    from sparkiac.fleet.machine import Machine
    from sparkiac.plan import HostPlan, Plan
    from sparkiac.words.bundle import Identities

_LINES: Final = 300
_WIDTH: Final = 600
"""Most characters of a line of a journal."""
_KERNEL_READ: Final = 20_000
"""Newest lines of the kernel among which the host searches; most are about something else, such as a firewall."""
_KERNEL_S: Final = 7 * 86_400
_ANSIBLE_S: Final = 30


@click.command()
@INVENTORY
@click.argument("host", shell_complete=completion.hosts)
@click.option("--output", type=click.Path(path_type=Path), help="New file; default: report-HOST-DATE.txt.")
def report(inventory: Path, host: str, output: Path | None) -> int:
    """Write a report of HOST to a text file that can be posted where somebody can help.

    It has the versions of sparkiac, Ansible, kernel, driver, container toolkit, Docker and firmware; the units with
    images, commands and environment; state, problems and drift; memory, GPU and links; what APT changed; and the last
    lines of the journals of its units and of the kernel about GPU, network and memory.

    Taken out are the values of secrets and what looks like one, serial numbers and UUIDs. Names of hosts and users,
    home directories, and IP and MAC addresses are replaced, each always by the same word: host-1, user-1, address-1.
    Names of models, deployments and files stay: read it before you post it. The file must not exist; its mode is 0600.

    Exit codes: 0 done, 2 bad input, 6 the host is not reachable or cannot be read, or the file cannot be written; then
    there is no file.
    """
    path = output or Path(f"report-{host}-{time.strftime('%Y-%m-%d')}.txt")
    if path.exists() or path.is_symlink():
        reject(f"{click.format_filename(path)} exists; name another file with --output, or remove it")
    plan = planned(inventory).plan
    hosts = {each.name: each for each in plan.hosts}
    wanted = hosts[known("host", host, hosts)]
    from sparkiac import write
    from sparkiac.fleet.query import HostFailure
    from sparkiac.words import bundle

    try:
        machine = _machine(wanted)
    except HostFailure as failure:
        click.echo(f"{host}: {failure.reason}{f'; {failure.hint}' if failure.hint else ''}", err=True)
        return Exit.IO
    text = bundle.text(_sections(wanted, machine), _identities(plan, wanted, machine))
    write.replace(path, text.encode(), mode=0o600)
    click.echo(f"{click.format_filename(path)}: written, mode 0600; read it before you post it")
    return Exit.OK


def _machine(host: HostPlan) -> Machine:
    """Read the machine and the names on it. Raises HostFailure."""
    from sparkiac.fleet import machine
    from sparkiac.fleet.query import HostFailure, endpoint

    found = machine.read(endpoint(host))
    if found.name is None or found.users is None:
        raise HostFailure("its name and its users cannot be read, and so not be taken out", f"{dict(found.unknown)}")
    return found


def _sections(host: HostPlan, machine: Machine) -> dict[str, str]:
    """Return title → text of each section. What cannot be read is named in its place."""
    from sparkiac.fleet import machine as of_machine
    from sparkiac.fleet.query import HostFailure, endpoint, query
    from sparkiac.fleet.status import status
    from sparkiac.words import bundle
    from sparkiac.words import status as words

    there = endpoint(host)
    found = status(host, None, query(there))
    [ports] = of_machine.read_all({there: host.links}).values()
    links = f"not read: {ports.reason}" if isinstance(ports, HostFailure) else bundle.as_json(ports.model_dump())
    units = (*(unit.unit for unit in host.units), "sparkiac-switch")
    return {
        "Versions": "\n".join(_versions()),
        "Plan": "\n".join(bundle.planned(host)),
        "State": "\n".join(bundle.state(found)),
        "Machine": bundle.as_json(machine.model_dump(exclude={"name", "users"})),
        "Facts": bundle.as_json(words.data([found])["hosts"]),
        "Links": links,
        "Journal": _journal(host, units, _LINES, None),
        "Kernel, of 7 days": _journal(host, (), _KERNEL_READ, _KERNEL_S),
    }


def _versions() -> list[str]:
    from sparkiac import __version__
    from sparkiac.upstream import playbook, programs

    try:
        done = programs.execute((playbook.program("ansible-playbook"), "--version"), timeout_s=_ANSIBLE_S)
        ansible = done.stdout.partition("\n")[0]
    except programs.ProgramError as error:
        ansible = str(error)
    return [f"sparkiac {__version__}", ansible, f"Python {platform.python_version()} on {platform.system()}"]


def _journal(host: HostPlan, units: tuple[str, ...], lines: int, since_s: int | None) -> str:
    from sparkiac.fleet.diagnosis.journal import LogFault, LogRequest, merged
    from sparkiac.upstream.programs import ProgramError
    from sparkiac.words import bundle

    try:
        found = [*merged({host.name: (host, units)}, LogRequest(lines, since_s, follow=False))]
    except ProgramError as error:
        return f"not read: {error}"
    return "\n".join(
        f"not read: {each.reason}"
        if isinstance(each, LogFault)
        else bundle.cut(f"{each.moment}  {each.source or 'kernel'}: {each.text}", _WIDTH)
        for each in found[-_LINES:]
    )


def _identities(plan: Plan, wanted: HostPlan, machine: Machine) -> Identities:
    """Return the names of hosts and users, with those of this machine, and the values of the secrets that it has."""
    from sparkiac.commands.secrets import store
    from sparkiac.words.bundle import Identities

    own = (wanted.name, wanted.address, machine.name or "")
    hosts = [(each.name, each.address) for each in plan.hosts] + [(each.name, each.address) for each in plan.retired]
    users = {each.user or "" for each in plan.hosts} | {getpass.getuser()}
    return Identities(
        (own, *hosts, (platform.node(),)),
        (*(machine.users or ()), *((user,) for user in sorted(users))),
        store.known(Path("secrets") / f"{plan.name}.json"),
    )
