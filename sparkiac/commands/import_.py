"""`sparkiac import`: convert files of other tools to a draft inventory, and report what was lost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sparkiac.commands import foreign, prompts
from sparkiac.commands.inputs import AS_JSON, Exit, known, reject, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.commands.foreign import Foreign
    from sparkiac.importers.draft import DraftEntry
    from sparkiac.report import Report

_DRAFT: Final = "draft.yaml"
"""File name in findings of a draft that goes to standard output."""


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True), metavar="FILE…")
@click.option("--from", "source", metavar="FORMAT", help="Input format; detected if omitted.")
@click.option("--as", "kind", type=click.Choice(["inventory", "recipe"]), default="inventory", help="Kind of draft.")
@click.option(
    "--host", "hosts", metavar="NAME=ADDRESS", multiple=True, help="Host for the deployments. May be repeated."
)
@click.option("--output", type=click.Path(path_type=Path), help="Output file for the draft; it must not exist.")
@AS_JSON
def import_(  # noqa: PLR0913, PLR0917  click hands over one argument for each option
    files: tuple[Path, ...],
    source: str | None,
    kind: str,
    hosts: tuple[str, ...],
    output: Path | None,
    output_format: str,
) -> int:
    """Draft an inventory from recipes, command lines and containers of other tools.

    FILE is a file, a directory, or - for standard input: `docker run` command lines, shell scripts, Markdown pages,
    docker-compose files, systemd units, `docker inspect` JSON, recipes of eugr/spark-vllm-docker and of sparkrun.

    The draft goes to standard output or to --output. The report goes to standard error: what was understood,
    corrected, unused and lost, and the findings of `check` for the draft. Secrets are never written.

    Exit codes: 0 nothing was lost, 1 something was lost or the draft has errors other than values to fill in, 2 a
    file cannot be read and nothing is written.
    """
    from sparkiac import importers
    from sparkiac.report import Report

    if source is not None:
        known("format", source, importers.FORMATS)
    placed = tuple(prompts.host(each) for each in hosts)
    if output is not None and (output.exists() or output.is_symlink()):
        reject(f"{click.format_filename(output)} exists; name another file, or remove it")
    found = foreign.read(files, source)
    if found.findings:
        _print((), (), Report.of(found.findings), output_format)
        return Exit.BAD_INPUT
    return _write(found, placed, kind=kind, output=output, output_format=output_format)


def _write(
    found: Foreign, hosts: Sequence[tuple[str, str]], *, kind: str, output: Path | None, output_format: str
) -> int:
    from sparkiac import pipeline, write
    from sparkiac.importers import assemble, naming
    from sparkiac.words import imports as of_import

    entries = found.entries
    first = entries[0][0] if entries else "imported"
    text = assemble.inventory(entries, naming.slug(Path(first).stem, "imported"), hosts)
    report = pipeline.check(pipeline.InputFile(str(output or _DRAFT), text.encode()), None, allow_unlocked=True).report
    if kind == "recipe":
        text = foreign.one_recipe(entries)
    if output is None:
        click.echo(text, nl=False)
    else:
        write.replace(output, text.encode())
    _print(entries, found.skipped, report, output_format)
    return Exit.FINDINGS if of_import.lost(entries) or of_import.failed(report) else Exit.OK


def _print(
    entries: Sequence[tuple[str, DraftEntry]], skipped: Sequence[str], report: Report, output_format: str
) -> None:
    """Print the report to standard error; standard output contains the draft."""
    import json

    from sparkiac.commands.inputs import wants_colour
    from sparkiac.words import imports as of_import

    if output_format == "json":
        click.echo(json.dumps({"format_version": 1} | of_import.data(entries, skipped, report), indent=1), err=True)
    elif entries:
        click.echo(of_import.text(entries, skipped, report, colour=wants_colour(sys.stderr)), err=True, nl=False)
    else:
        show(report, "text")
