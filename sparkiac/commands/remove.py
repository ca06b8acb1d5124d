"""`sparkiac remove`: remove a deployment from an inventory."""

from __future__ import annotations

from pathlib import Path

import click

from sparkiac.commands import completion
from sparkiac.commands.inputs import FORMAT, known, planned, reject
from sparkiac.commands.inventories import inventory_option


@click.command()
@click.argument("deployment", shell_complete=completion.deployments)
@inventory_option("--from")
@FORMAT
def remove(deployment: str, inventory: Path, output_format: str) -> int:
    """Remove DEPLOYMENT from an inventory and print the diff; other lines and their comments stay.

    It is refused if the inventory would have new errors, such as a service that uses the deployment. The next apply
    stops and removes its containers.

    Exit codes: 0 done, 1 refused, with the findings, 2 bad input, 5 the inventory changed during the run, 6 it cannot
    be read or written.
    """
    from sparkiac.commands import editing
    from sparkiac.fix.edits import entry_names, without_deployment
    from sparkiac.fix.nodes import CannotEdit

    files, _, report = planned(inventory, output_format)
    former = files[0].raw.decode()
    known("deployment", deployment, entry_names(former, "deployments"))
    try:
        text = without_deployment(former, deployment)
    except CannotEdit as reason:
        reject(f"{inventory}: {deployment} must be removed by hand: {reason}")
    return editing.save(inventory, files, report, text, output_format)
