"""`sparkiac diagnose`: find known problems in the logs of a server, and what to change."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

import click

from sparkiac.commands import completion
from sparkiac.commands.inputs import AS_JSON, Exit, answer, reject
from sparkiac.commands.inventories import only_inventory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.commands.diagnose.proposal import Context
    from sparkiac.fleet.diagnosis.lines import Log
    from sparkiac.plan.startup_log import StartupComparison

_NOTHING: Final = "name a log, - for standard input, or a deployment with --inventory and --deployment"

_BLOCK: Final = 1 << 20
_YAML: Final = (".yaml", ".yml")


class DiagnoseOptions(NamedTuple):
    """Options of the command."""

    logs: tuple[Path, ...]
    inventory: Path | None
    deployment: str | None
    output_format: str
    writes: bool
    bisect: Path | None


@click.command()
@click.argument("logs", nargs=-1, metavar="[LOG]...", type=click.Path(allow_dash=True, path_type=Path))
@click.option("--inventory", metavar="FILE", type=click.Path(path_type=Path), help="Inventory with the deployment.")
@click.option(
    "--deployment",
    metavar="NAME",
    shell_complete=completion.deployments,
    help="Deployment that the logs belong to; without LOG, read its journals.",
)
@click.option("--write", "writes", is_flag=True, help="Apply the printed change to the inventory.")
@click.option(
    "--bisect",
    metavar="DIRECTORY",
    type=click.Path(path_type=Path),
    help="Write the configurations that find the option with which the deployment fails to start.",
)
@AS_JSON
def diagnose(**given: Any) -> int:  # noqa: ANN401  the fields of Request
    """Find known problems in the logs of a server: cause, remedy, and the change of the inventory.

    LOG is a file, such as the output of `docker logs`, journalctl or dmesg, or an answer of the server; - reads
    standard input. Without LOG, the journals of all hosts of the deployment are read over SSH: the last two starts,
    and what the kernel says about GPU and memory.

    With --inventory, kernels, KV cache and memory are compared with the plan, and a certain change is printed as a
    diff for `git apply`.

    Exit codes: 0 no problem found, 1 problems found, 2 bad input, 5 the inventory changed during the run, 6 no log of
    the deployment can be read.
    """
    request = DiagnoseOptions(**given)
    if request.inventory is None and (request.deployment or request.writes or request.bisect):
        request = request._replace(inventory=only_inventory())
    if not request.logs and request.deployment is None:
        reject(_NOTHING)
    return _bisect(request, request.bisect) if request.bisect is not None else _diagnose(request)


def _diagnose(request: DiagnoseOptions) -> int:
    from sparkiac.commands import editing
    from sparkiac.commands.diagnose.proposal import load, propose
    from sparkiac.fleet.diagnosis import diagnose as diagnosed
    from sparkiac.fleet.diagnosis.matching import DiagnosedServer
    from sparkiac.words import diagnose as words

    logs = tuple(map(_log, request.logs))
    context = load(request.inventory, request.deployment, logs, request.output_format) if request.inventory else None
    if not logs and context is not None:
        logs = _journals(context)
        if not logs:
            return Exit.IO
    diagnosis = diagnosed(logs, DiagnosedServer.of_plan(context.container) if context else None)
    compared = _compared(context, logs) if context else None
    proposal = propose(diagnosis.problems, context) if context else None
    written = bool(request.writes and proposal and proposal.diff)
    if written and context and proposal:
        former = context.files[0]
        if not editing.replaced(Path(former.name), former.raw, proposal.raw, during="run"):
            return Exit.BUSY
    data = words.data(diagnosis) | words.compared_data(compared) | words.change_data(proposal, written=written)
    page = words.page(diagnosis, compared, proposal, file=str(request.inventory), written=written)
    answer(request.output_format, data, lambda _: page)
    return Exit.FINDINGS if diagnosis.failed else Exit.OK


def _log(path: Path) -> Log:
    from sparkiac.fleet.diagnosis import lines

    if str(path) == "-":
        return lines.read("standard input", _blocks(sys.stdin.buffer))
    if path.suffix in _YAML:
        reject(f"{click.format_filename(path)} is not a log; name an inventory with --inventory")
    try:
        with path.open("rb") as file:
            return lines.read(str(path), _blocks(file))
    except OSError as error:
        reject(f"{click.format_filename(path)} cannot be read: {error.strerror}")


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.read(_BLOCK), b"")


def _journals(context: Context) -> tuple[Log, ...]:
    """Read the journals, and say which hosts returned none."""
    from sparkiac.fleet.diagnosis import journal

    found = journal.fetch([host for host, _ in context.containers], context.container.unit)
    for name, each in found.items():
        if each.fault:
            click.echo(f"{name}: {each.fault}", err=True)
    return tuple(log for each in found.values() for log in each.logs)


def _compared(context: Context, logs: tuple[Log, ...]) -> StartupComparison | None:
    from sparkiac.plan import startup_log

    text = "\n".join(line.text for log in logs for line in log.last)
    return startup_log.compare_log(context.container.name, context.host, text)


def _bisect(request: DiagnoseOptions, directory: Path) -> int:
    from sparkiac.commands.diagnose import bisect
    from sparkiac.commands.diagnose.proposal import load

    if request.logs or request.inventory is None or request.deployment is None:
        reject("--bisect needs --inventory and --deployment, and no log")
    return bisect.write(load(request.inventory, request.deployment, (), request.output_format), directory)
