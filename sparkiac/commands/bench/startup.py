"""Mode startup: the phases of the last start, from a log file or from the journal of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import known, print_json, read, show

if TYPE_CHECKING:
    from pathlib import Path

    from sparkiac.model.bench import Subject


def run(
    inventory: Path | None, deployment: str | None, log: Path | None, output: Path | None, output_format: str
) -> Exit:
    """Read the log, write the record and show it."""
    from sparkiac import __version__
    from sparkiac.bench import phases, records
    from sparkiac.commands.bench import files, page
    from sparkiac.formats import terminal
    from sparkiac.model.bench import BenchRecord

    found = _log(inventory, deployment, log, output_format)
    if isinstance(found, Exit):
        return found
    text, subject = found
    listed = phases.phases(text)
    if not listed:
        click.echo("the log contains no complete start of vLLM", err=True)
        return Exit.FINDINGS
    tool = f"sparkiac {__version__}"
    record = BenchRecord(mode="startup", tool=tool, taken=files.now(), subject=subject, phases=listed)
    path = output or files.place(inventory, record)
    try:
        files.write(path, records.text(record))
    except OSError as error:
        click.echo(f"{click.format_filename(path)}: {error.strerror}", err=True)
        return Exit.IO
    if output_format == "json":
        print_json({"path": str(path), "record": record.model_dump(mode="json")})
    else:
        terminal.show(page.page(record))
        click.echo(f"\nRecord: {path}")
    return Exit.OK


def _log(
    inventory: Path | None, deployment: str | None, log: Path | None, output_format: str
) -> tuple[str, Subject] | Exit:
    """Return the log and what started."""
    from sparkiac import pipeline
    from sparkiac.bench import target
    from sparkiac.model.bench import Subject
    from sparkiac.plan import startup_log
    from sparkiac.upstream import journal

    text = log.read_text(encoding="utf-8", errors="replace") if log else None
    if inventory is None:
        if text is None:
            message = "mode startup with --url needs --log: the log of a start"
            raise click.UsageError(message)
        return text, Subject(url="", model=log.stem if log else "")
    outcome = pipeline.check(*read(inventory), allow_example=True, allow_unlocked=True)
    if outcome.plan is None:
        show(outcome.report, output_format)
        return Exit.BAD_INPUT
    name = known("deployment", deployment or "", startup_log.servers(outcome.plan))
    host, container = target.leading(outcome.plan, name)
    served = next(iter(container.server.served), name)
    subject = target.subject_of(host, container, (host,), Subject(url="", model=served))
    try:
        user = f"{host.user}@" if host.user else ""
        found = text or journal.read(f"{user}{host.address}", container.unit, port=host.ssh_port)[0]
    except journal.JournalError as error:
        click.echo(f"{host.name}: {error}", err=True)
        return Exit.IO
    return found, subject
