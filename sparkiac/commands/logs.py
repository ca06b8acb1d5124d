"""`sparkiac logs`: show the journal of a host or deployment, merged by time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sparkiac.commands import completion
from sparkiac.commands.inputs import Exit, planned
from sparkiac.commands.inventories import INVENTORY
from sparkiac.commands.prompts import WrittenText
from sparkiac.commands.verbs import named

if TYPE_CHECKING:
    from sparkiac.fleet.diagnosis.journal import JournalLine
    from sparkiac.plan import HostPlan, Plan

_MOST: Final = 10_000
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_AGE: Final = WrittenText("AGE", "[0-9]{1,4}[smhd]", "90s, 10m, 2h or 1d")
_SWITCH: Final = "sparkiac-switch"
"""The unit that switches a host to another generation."""


@click.command()
@INVENTORY
@click.argument("name", metavar="HOST|DEPLOYMENT", shell_complete=completion.targets)
@click.option("-f", "--follow", is_flag=True, help="Show new lines as they come, until Ctrl-C.")
@click.option("--since", type=_AGE, help="Only lines that are at most so old, such as 90s, 10m, 2h or 1d.")
@click.option("--lines", type=click.IntRange(1, _MOST), default=200, help="Newest lines of each host.")
def logs(inventory: Path, name: str, since: str | None, lines: int, *, follow: bool) -> int:
    """Show the journal of all units of a host, or of a DEPLOYMENT or service on all its hosts, merged by time.

    It contains what the server prints and what systemd says of its unit; that of a host also the switches of an apply.
    Each line has its time (UTC, by the clock of its host) and its host. Hosts are reached over SSH, as root or with
    sudo that asks for no password: a host sends no line before the values of its secrets have been taken out.

    Exit codes: 0 done, 2 bad input, 6 a host is not reachable or its journal cannot be read, 130 interrupted.
    """
    plan = planned(inventory).plan
    from sparkiac.fleet.diagnosis.journal import LogFault, LogRequest, merged
    from sparkiac.upstream.programs import ProgramError

    hosts = _units(plan, name)
    several = any(len(units) > 1 for _, units in hosts.values())
    width = max(map(len, hosts))
    since_s = None if since is None else int(since[:-1]) * _SECONDS[since[-1]]
    code = Exit.OK
    try:
        for each in merged(hosts, LogRequest(lines, since_s, follow)):
            if isinstance(each, LogFault):
                click.echo(f"{each.host}: {each.reason}", err=True)
                code = Exit.IO
            else:
                click.echo(_shown(each, width, with_unit=several))
    except ProgramError as error:
        click.echo(str(error), err=True)
        return Exit.IO
    return code


def _units(plan: Plan, name: str) -> dict[str, tuple[HostPlan, tuple[str, ...]]]:
    """Return host → the host, and the units whose journal is read there."""
    found = named(plan, (name,))
    wanted = {f"sparkiac-{each}" for each in found.units}
    hosts = {host.name: host for host in plan.hosts if host.name in (*found.hosts, *found.owners)}
    return {key: (host, tuple(wanted) or (*(unit.unit for unit in host.units), _SWITCH)) for key, host in hosts.items()}


def _shown(line: JournalLine, width: int, *, with_unit: bool) -> str:
    return f"{line.moment}  {line.host:<{width}}  {f'{line.source}: ' if with_unit else ''}{line.text}"
