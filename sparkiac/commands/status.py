"""`sparkiac status`: read the state of the hosts, and show what is not healthy or differs from what was generated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from sparkiac.commands import completion
from sparkiac.commands.inputs import AS_JSON, Exit, answer, known, planned, printable, reject
from sparkiac.commands.inventories import INVENTORY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sparkiac.fleet.query import Answer
    from sparkiac.fleet.status import HostStatus
    from sparkiac.plan import HostPlan

_PERIOD_S: Final = 2
"""Time between two requests of the live view to the same host."""
_NO_TREE: Final = "{path} has no generation of {hosts}: run sparkiac generate; generations are not compared"


class _QueriedFleet(NamedTuple):
    """The hosts to query, and the generation of each host that the generated directory contains."""

    name: str
    path: Path
    hosts: Mapping[str, HostPlan]
    generations: Mapping[str, str]


@click.command()
@INVENTORY
@click.argument("hosts", nargs=-1, metavar="[HOST]...", shell_complete=completion.hosts)
@click.option("--output", type=click.Path(path_type=Path), help="Generated directory; default: generated/<name>.")
@click.option("--watch", is_flag=True, help="Show a live view until Ctrl-C.")
@AS_JSON
def status(inventory: Path, hosts: tuple[str, ...], output_format: str, *, output: Path | None, watch: bool) -> int:
    """Read the state of all hosts of INVENTORY, or of each HOST, over SSH; change nothing.

    For each host: driver, firmware, memory, clock, generation, and files that were changed by hand. For each unit: its
    state, the names that it serves, KV cache, requests, tokens per second, and why it was started last. Facts that
    require root on the host are read with sudo if it asks for no password.

    Exit codes: 0 all healthy and as generated, 1 something is not healthy or not reachable, 2 bad input or options, 3
    all healthy, but a host has another generation or was changed by hand, 130 interrupted.
    """
    if watch:
        _require_terminal(output_format)
    fleet = _fleet(inventory, hosts, output, output_format)
    return _watch(fleet) if watch else _once(fleet, output_format)


def _require_terminal(output_format: str) -> None:
    from sparkiac.commands import terminal

    if output_format == "json":
        reject("--watch shows a live view, which --format json cannot contain; remove one of them")
    if not terminal.is_terminal():
        reject("--watch needs a terminal; without it, the state is printed once")


def _fleet(inventory: Path, names: tuple[str, ...], output: Path | None, output_format: str) -> _QueriedFleet:
    """Return the hosts to query, and print a note about those without generated files."""
    from sparkiac.commands.apply.tree import generation_in
    from sparkiac.report.artifact import hashes_file

    plan = planned(inventory, output_format).plan
    hosts = {host.name: host for host in plan.hosts}
    chosen = {known("host", name, hosts): hosts[name] for name in names} or hosts
    path = printable(output or Path("generated") / plan.name)
    files = {name: path / hashes_file(name) for name in chosen}
    found = {name: generation_in(file.read_bytes()) for name, file in files.items() if file.is_file()}
    generations = {name: generation for name, generation in found.items() if generation}
    if missing := [name for name in chosen if name not in generations]:
        click.echo(_NO_TREE.format(path=path, hosts=", ".join(missing)), err=True)
    return _QueriedFleet(plan.name, path, chosen, generations)


def _once(fleet: _QueriedFleet, output_format: str) -> Exit:
    from sparkiac.fleet import query
    from sparkiac.words import status as words
    from sparkiac.words.page import counted

    if output_format == "text":
        click.echo(f"Asking {counted(len(fleet.hosts), 'host')} …", err=True)
    found = {}
    for each in query.query_all(map(query.endpoint, fleet.hosts.values())):
        found[each.host] = _status(fleet, each)
    statuses = [found[name] for name in fleet.hosts]
    data = {"name": fleet.name, "output": str(fleet.path), **words.data(statuses)}
    answer(output_format, data, lambda width: words.page(statuses, width))
    return exit_code(statuses)


def _watch(fleet: _QueriedFleet) -> Exit:
    """Query all hosts repeatedly and show the last answers, until an interrupt."""
    from sparkiac.commands.live import LiveView
    from sparkiac.fleet import query

    with LiveView(list(fleet.hosts)) as view:
        try:
            view.update(None)
            for each in query.query_repeatedly(map(query.endpoint, fleet.hosts.values()), period_s=_PERIOD_S):
                view.update(_status(fleet, each) if each else None)
        except KeyboardInterrupt:
            return Exit.INTERRUPTED
    return Exit.OK


def _status(fleet: _QueriedFleet, found: Answer) -> HostStatus:
    from sparkiac.fleet.status import status as status_of

    return status_of(fleet.hosts[found.host], fleet.generations.get(found.host), found)


def exit_code(statuses: Sequence[HostStatus]) -> Exit:
    """Return the exit code: unhealthy units take precedence over differences."""
    kinds = {problem.kind for host in statuses for problem in host.problems}
    if "unhealthy" in kinds:
        return Exit.FINDINGS
    return Exit.STALE if "drift" in kinds else Exit.OK
