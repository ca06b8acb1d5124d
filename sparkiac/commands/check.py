"""`sparkiac check`: findings only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sparkiac.commands.inputs import FORMAT, INVENTORY, exit_code, read, show

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@INVENTORY
@FORMAT
def check(inventory: Path, output_format: str) -> int:
    """Check an inventory and its lock; write nothing.

    Exits 0 when there is no error, 1 when a rule refuses something, 2 when the input is bad.
    """
    from sparkiac import pipeline
    from sparkiac.formats.text import counts

    outcome = pipeline.check(*read(inventory))
    show(outcome, output_format)
    if output_format == "text" and not outcome.report.findings:
        click.echo(f"{inventory}: {counts(outcome.report)}", err=True)
    return exit_code(outcome)
