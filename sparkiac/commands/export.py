"""`sparkiac export`: convert a deployment for another tool."""

from __future__ import annotations

from pathlib import Path

import click

from sparkiac.commands import completion
from sparkiac.commands.inputs import Exit, known, planned, reject
from sparkiac.commands.inventories import INVENTORY
from sparkiac.report.characters import escaped_line


@click.command()
@INVENTORY
@click.argument("deployment", shell_complete=completion.deployments)
@click.option("--as", "kind", metavar="FORMAT", required=True, help="docker-run, compose, eugr or sparkrun.")
@click.option("--output", type=click.Path(path_type=Path), help="Output file; it must not exist.")
def export(inventory: Path, deployment: str, kind: str, output: Path | None) -> int:
    """Convert DEPLOYMENT of INVENTORY to the format of another tool.

    Formats: `docker run` script, docker-compose project, recipe of eugr/spark-vllm-docker, recipe of sparkrun. Images
    keep the digests of the lock; secrets become variables that the caller sets. Settings that the format cannot
    express, and steps that are left to do, are listed on standard error and in comments.

    Exit codes: 0 done, 2 bad input, or the format cannot express the deployment.
    """
    from sparkiac import foreign, write

    known("format", kind, foreign.EXPORTED)
    if output is not None and (output.exists() or output.is_symlink()):
        reject(f"{click.format_filename(output)} exists; name another file, or remove it")
    plan = planned(inventory).plan
    names = (each.name for host in plan.hosts for each in host.containers if each.kind == "deployment")
    known("deployment", deployment, sorted({*names}))
    try:
        found = foreign.exporter(kind).write(foreign.nodes(plan, deployment))
    except foreign.ExportError as error:
        reject(f"{error}; export it as docker-run or compose")
    if output is None:
        click.echo(found.text, nl=False)
    else:
        write.replace(output, found.text.encode())
    for note in found.notes:
        click.echo(f"note: {escaped_line(note)}", err=True)
    return Exit.OK
