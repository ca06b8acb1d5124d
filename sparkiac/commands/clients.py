"""`sparkiac clients`: print how clients reach the deployments, and the settings of client programs."""

from __future__ import annotations

from pathlib import Path

import click

from sparkiac.commands import completion
from sparkiac.commands.inputs import AS_JSON, Exit, answer, known, planned, reject
from sparkiac.commands.inventories import INVENTORY
from sparkiac.report import assets


@click.command()
@INVENTORY
@click.argument("deployment", required=False, shell_complete=completion.deployments)
@click.option(
    "--for",
    "client",
    type=click.Choice(sorted(assets.entries("clients"))),
    help="Print only the settings of this program, as a file to take.",
)
@AS_JSON
def clients(inventory: Path, deployment: str | None, client: str | None, output_format: str) -> int:
    """Print how clients use the gateway and the deployments of INVENTORY, or only one, and the settings of programs.

    For each: address, models, context, where the key is, a curl command, and the settings of Claude Code, Codex,
    Continue, Open WebUI and OpenClaw, or why they cannot use it. The value of a key is never printed: commands and
    settings read it from a file. It connects to no host.

    Exit codes: 0 printed, 2 bad input, or a program that cannot use the deployment.
    """
    plan = planned(inventory, output_format).plan
    from sparkiac.commands.secrets import store
    from sparkiac.words import clients as words
    from sparkiac.words.audit import AUTHORITY
    from sparkiac.words.page import Verbatim, plain

    authority = store.certificate_of(Path("secrets") / f"{plan.name}.json", AUTHORITY)
    servers = words.of(plan, authority.read_text() if authority.is_file() else None)
    if not servers:
        reject("no deployment of the inventory accepts requests")
    if deployment is not None:
        known("deployment", deployment, (each.name for each in servers))
        servers = tuple(each for each in servers if each.name == deployment)
    if client is not None:
        if len(servers) != 1:
            reject(f"name one of the deployments: {', '.join(each.name for each in servers)}")
        found = servers[0].clients[client]
        if found.settings is None:
            reject(f"{found.title} cannot use {servers[0].name}: {found.obstacle}")
        answer(output_format, {"client": plain(found)}, lambda _: (Verbatim(found.settings),))
    else:
        answer(output_format, {"deployments": plain(servers)}, lambda _: words.page(servers))
    return Exit.OK
