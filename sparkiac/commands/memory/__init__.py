"""`sparkiac memory`: compare the plan with a vLLM startup log."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import AS_JSON, INVENTORY, known, print_json, read, show


@click.command()
@INVENTORY
@click.argument("deployment")
@click.option(
    "--from-log",
    "log",
    required=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="vLLM startup log; - reads standard input.",
)
@AS_JSON
def memory(inventory: Path, deployment: str, output_format: str, *, log: Path) -> int:
    """Compare the planned memory of DEPLOYMENT in INVENTORY with a vLLM startup log, and print lines for the inventory.

    With these lines in the inventory, the plan uses the measured values. To save a log on the host:
    journalctl --boot --unit sparkiac-DEPLOYMENT > start.log

    Exit codes: 0 done, 1 the log has no memory figures, 2 bad input.
    """
    from sparkiac import pipeline
    from sparkiac.commands.memory import tables
    from sparkiac.formats import terminal
    from sparkiac.plan import startup_log

    outcome = pipeline.check(*read(inventory), allow_unlocked=True)
    if outcome.plan is None:
        show(outcome.report, output_format)
        return Exit.BAD_INPUT
    hosts = startup_log.servers(outcome.plan)
    found = startup_log.compare_log(known("deployment", deployment, hosts), hosts[deployment], _text(log))
    if found is None:
        click.echo(f"{click.format_filename(log)} {tables.NOTHING}", err=True)
        return Exit.FINDINGS
    if output_format == "json":
        print_json(tables.plain(found))
    else:
        terminal.show(tables.page(found))
    return Exit.OK


def _text(log: Path) -> str:
    """Read a log; bytes that are not UTF-8 are replaced."""
    raw = sys.stdin.buffer.read() if str(log) == "-" else log.read_bytes()
    return raw.decode(errors="replace")
