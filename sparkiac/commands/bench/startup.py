"""Mode startup: the phases of the last start, from a log file or from the journal of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from sparkiac.commands.bench import starts
from sparkiac.commands.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sparkiac.commands.bench.starts import Deployed
    from sparkiac.model.bench import BenchHost, BenchSubject


class _StartupLog(NamedTuple):
    """A startup log, and what started."""

    text: str
    subject: BenchSubject
    before: Mapping[str, BenchHost]
    """Facts of the host, if the log is from its journal."""


def run(of: Deployed | None, log: Path | None, output: Path | None, output_format: str) -> Exit:
    """Read the log, write the record and show it."""
    from sparkiac import __version__
    from sparkiac.bench import phases
    from sparkiac.commands.bench import files
    from sparkiac.model.bench import BenchRecord

    found = _of_file(of, log) if log or of is None else _of_journal(of)
    listed = phases.phases(found.text)
    if not listed:
        click.echo("the log contains no complete start of vLLM", err=True)
        return Exit.FINDINGS
    record = BenchRecord(
        mode="startup",
        tool=f"sparkiac {__version__}",
        taken=files.now(),
        subject=found.subject,
        before=dict(found.before),
        phases=listed,
    )
    path = output or files.place(of.inventory if of else None, record)
    return starts.report(of, record, path, output_format, log=found.text)


def _of_file(of: Deployed | None, log: Path | None) -> _StartupLog:
    """Read a log file; without a deployment, its name is all that is known about the server."""
    from sparkiac.model.bench import BenchSubject

    if log is None:
        message = "mode startup with --url needs --log: the log of a start"
        raise click.UsageError(message)
    text = log.read_text(encoding="utf-8", errors="replace")
    return _StartupLog(text, BenchSubject(url="", model=log.stem) if of is None else _subject(of), {})


def _of_journal(of: Deployed) -> _StartupLog:
    """Read the startup log from the journal of the host, and read which generation the host runs."""
    from sparkiac.bench import target
    from sparkiac.fleet.diagnosis import journal
    from sparkiac.fleet.query import endpoint
    from sparkiac.model.bench import BenchHost
    from sparkiac.upstream.programs import ProgramError

    host, container = target.leading(of.plan, of.name)
    there = endpoint(host)
    try:
        text = journal.printed(there.target, container.unit, port=there.port)[0]
    except ProgramError as error:
        click.echo(f"{host.name}: {error}", err=True)
        raise click.exceptions.Exit(Exit.IO) from None
    return _StartupLog(text, _subject(of), {host.name: BenchHost(), **target.host_facts((host,))})


def _subject(of: Deployed) -> BenchSubject:
    from sparkiac.bench import target
    from sparkiac.model.bench import BenchSubject

    host, container = target.leading(of.plan, of.name)
    served = next(iter(container.server.served), of.name)
    return target.subject_of(host, container, (host,), BenchSubject(url="", model=served))
