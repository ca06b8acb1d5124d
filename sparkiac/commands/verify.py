"""`sparkiac verify`: check what the deployments and services promise, step by step."""

from __future__ import annotations

from pathlib import Path

import click

from sparkiac.commands import completion
from sparkiac.commands.inputs import AS_JSON, Exit, answer, known, planned
from sparkiac.commands.inventories import INVENTORY


@click.command()
@INVENTORY
@click.argument("deployment", required=False, shell_complete=completion.deployments)
@click.option(
    "--from",
    "origin",
    default="host",
    metavar="ORIGIN",
    help="Where requests come from: host (default), controller (this machine), or a deployment or service: from its "
    "container.",
)
@AS_JSON
def verify(inventory: Path, deployment: str | None, origin: str, output_format: str) -> int:
    """Check every deployment and service of INVENTORY, or only DEPLOYMENT, and show the evidence of each step.

    The steps are those of the plan: health, names, a known answer, tools, streaming, structured output, latency and
    more. They send at most 11 short requests to each model, one after the other, and none while requests wait in its
    queue. Hosts are reached over SSH; API keys stay out of arguments and output.

    Exit codes: 0 all steps passed, 1 a step failed, 2 bad input or options, 6 a host or container is not reachable.
    """
    plan = planned(inventory, output_format).plan
    from sparkiac.fleet import verify as fleet

    if deployment is not None:
        known("deployment or service", deployment, fleet.names(plan))
    known("origin", origin, ("host", "controller", *fleet.clients(plan)))
    found = sorted(fleet.verify(plan, origin, only=deployment), key=lambda each: (each.name, each.host))
    from sparkiac.words import status as words

    answer(output_format, {"units": list(map(words.verified_data, found))}, lambda _: words.verified(found))
    if any(each.failure is None and not each.passed for each in found):
        return Exit.FINDINGS
    return Exit.IO if any(each.failure for each in found) else Exit.OK
