"""`sparkiac memory`: compare the plan with a start of the server, and record the start."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkiac.commands import completion
from sparkiac.commands.inputs import AS_JSON, Exit, answer, known, planned, reject
from sparkiac.commands.inventories import INVENTORY

_FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)


@click.command()
@INVENTORY
@click.argument("deployment", shell_complete=completion.deployments)
@click.option("--from-log", "log", metavar="FILE", type=_FILE, help="vLLM startup log; - reads standard input.")
@click.option("--from-metrics", "page", metavar="FILE", type=_FILE, help="Page of /metrics of vLLM; - reads it.")
@AS_JSON
def memory(inventory: Path, deployment: str, output_format: str, *, log: Path | None, page: Path | None) -> int:
    """Compare the planned memory of DEPLOYMENT in INVENTORY with a start of the server, and record that start.

    The record is a file in the folder measurements beside the inventory. It counts for the plan while image, model
    commit, platform and options that change memory stay the same. To save a log on the host:
    journalctl --boot --unit sparkiac-DEPLOYMENT > start.log

    Exit codes: 0 recorded, 1 not recorded: a failed start, another server, or impossible or no memory figures, 2 bad
    input, 6 the record cannot be written.
    """
    from sparkiac.commands import editing
    from sparkiac.plan import startup_log
    from sparkiac.plan.start_records import from_log, from_metrics
    from sparkiac.words import plan as words

    source = _one(log, page)
    files, plan, _ = planned(inventory, output_format)
    hosts = startup_log.servers(plan)
    host = hosts[known("deployment", deployment, hosts)]
    subject = host.proofs[deployment].subject
    assert subject is not None, "a planned deployment has one"  # noqa: S101  for the type checker
    text, name = _text(source), "standard input" if str(source) == "-" else source.name
    found = startup_log.compare_log(deployment, host, text) if log else None
    refused = found.refused if found else (words.NOTHING,)
    if page:
        container = next(each for each in host.containers if each.name == deployment)
        refused, _ = startup_log.of_metrics(container, text)
    if refused:
        click.echo("\n  ".join((f"{click.format_filename(source)} was not recorded:", *refused)), err=True)
        return Exit.FINDINGS
    record = from_log(subject, found.found, link=name) if found else from_metrics(subject, text, link=name)
    try:
        target = editing.store(inventory, deployment, record, files[0].records)
    except OSError as error:
        click.echo(f"{click.format_filename(str(error.filename or inventory))}: {error.strerror}", err=True)
        return Exit.IO
    answer(output_format, words.log_data(found, target), lambda _: words.log_page(found, target, subject))
    return Exit.OK


def _one(log: Path | None, page: Path | None) -> Path:
    source = log or page
    if source is None or (log and page):
        reject("name one file: --from-log FILE or --from-metrics FILE")
    return source


def _text(path: Path) -> str:
    """Read a file; bytes that are not UTF-8 are replaced."""
    raw = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    return raw.decode(errors="replace")
