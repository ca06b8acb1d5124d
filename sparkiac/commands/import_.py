"""`sparkiac import`: foreign files → a draft, and a report of what was lost."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import AS_JSON, known, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sparkiac.importers import Unreadable
    from sparkiac.importers.draft import Entry
    from sparkiac.importers.launch import Launch
    from sparkiac.report import Finding, Report

_STDIN: Final = "-"
_MAX_BYTES: Final = 1 << 20
_DRAFT: Final = "draft.yaml"
"""What findings call a draft that goes to standard output."""


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True), metavar="FILE…")
@click.option("--from", "source", metavar="FORMAT", help="Format of the files, if it shall not be recognised.")
@click.option("--as", "kind", type=click.Choice(["inventory", "recipe"]), default="inventory", help="What to draft.")
@click.option("--host", "hosts", metavar="NAME=ADDRESS", multiple=True, help="Host to place it on; again for more.")
@click.option("--output", type=click.Path(path_type=Path), help="File to write the draft to; it must not exist.")
@AS_JSON
def import_(  # noqa: PLR0913, PLR0917  click hands over one argument for each option
    files: tuple[Path, ...],
    source: str | None,
    kind: str,
    hosts: tuple[str, ...],
    output: Path | None,
    output_format: str,
) -> int:
    """Draft an inventory from recipes, command lines and containers by other hands.

    FILE is a file, a directory, or - for standard input: `docker run` command lines, shell scripts, Markdown pages,
    docker-compose files, systemd units, `docker inspect` JSON, recipes of eugr/spark-vllm-docker and of sparkrun.

    The draft goes to standard output or to --output, the report to standard error: what was understood, corrected and
    lost, and what `check` says of the draft. A secret in a file is never written out.

    Exits 0 when everything was understood, 1 when something was lost or the draft has an error, 2 when a file cannot
    be read; then nothing is written.
    """
    from sparkiac import importers

    if source is not None:
        known("format", source, importers.FORMATS)
    placed = tuple(_host(each) for each in hosts)
    if output is not None and (output.exists() or output.is_symlink()):
        message = f"{click.format_filename(output)} exists; name another file, or remove it"
        raise click.UsageError(message)
    launches, skipped, findings, hidden = _launches(files, source)
    if findings:
        return _refuse(findings, output_format)
    return _write(launches, skipped, hidden, placed, kind=kind, output=output, output_format=output_format)


def _host(text: str) -> tuple[str, str]:
    """Read NAME=ADDRESS."""
    from sparkiac.model import forms

    name, _, address = text.partition("=")
    if not re.fullmatch(forms.NAME, name) or not re.fullmatch(forms.ADDRESS, address):
        message = f"--host {text!r} is not NAME=ADDRESS, such as spark-01=192.168.1.11"
        raise click.UsageError(message)
    return name, address


def _launches(
    files: Sequence[Path], source: str | None
) -> tuple[list[tuple[str, Launch]], list[str], list[Finding], frozenset[str]]:
    """Read all files: their launches, what is not recognised in a directory, what cannot be read, and their secrets."""
    from sparkiac import importers
    from sparkiac.importers import hiding

    launches: list[tuple[str, Launch]] = []
    skipped: list[str] = []
    findings: list[Finding] = []
    hidden = frozenset[str]()
    for name, raw, named in _texts(files):
        text = ""
        try:
            text = _decoded(raw)
            chosen = source or importers.recognised(text, name)
            if chosen is None and not named:
                skipped.append(name)
                continue
            if chosen is None:
                formats = ", ".join(importers.FORMATS)
                message = f"no format is recognised; name it with --from: {formats}"
                raise importers.Unreadable(message)  # noqa: TRY301  one way for all that cannot be read
            hidden |= hiding.values(text)
            launches += [(name, launch) for launch in importers.named(chosen).read(text, name=name)]
        except importers.Unreadable as error:
            if not named and (not text or isinstance(error, importers.StartsNothing)):
                skipped.append(name)
                continue
            findings.append(_finding(name, error, hiding.line_of(text, error.line)))
    return launches, skipped, findings, hidden


def _texts(files: Sequence[Path]) -> Iterator[tuple[str, bytes, bool]]:
    """Give each file with its bytes, and whether it was named itself; those of a directory by name."""
    for path in files:
        printable(path)
        if str(path) == _STDIN:
            yield "standard input", sys.stdin.buffer.read(_MAX_BYTES + 1), True
        elif path.is_dir():
            for each in sorted(path.rglob("*")):
                if each.is_file() and not any(part.startswith(".") for part in each.relative_to(path).parts):
                    yield str(printable(each)), _bytes(each), False
        elif path.is_file():
            yield str(path), _bytes(path), True
        else:
            message = f"{click.format_filename(path)} does not exist, or is no file"
            raise click.UsageError(message)


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MAX_BYTES + 1)


def _decoded(raw: bytes) -> str:
    from sparkiac.importers import Unreadable

    if len(raw) > _MAX_BYTES:
        message = f"the file has more than {_MAX_BYTES} bytes"
        raise Unreadable(message)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"byte {raw[error.start]:#04x} is not UTF-8"
        raise Unreadable(message, line=raw.count(b"\n", 0, error.start) + 1) from None


def _finding(file: str, error: Unreadable, line: str = "") -> Finding:
    from sparkiac.report import Finding, Loc, Mark, Severity

    mark = Mark(error.line, error.column, error.line, error.column + 1)
    return Finding("IMP001", "unreadable", Severity.ERROR, str(error), Loc(file, mark, line))


def _refuse(findings: Sequence[Finding], output_format: str) -> int:
    from sparkiac.report import Report

    _print((), (), Report.of(findings), output_format)
    return Exit.BAD_INPUT


def _write(  # noqa: PLR0913  what click hands over, read
    launches: Sequence[tuple[str, Launch]],
    skipped: Sequence[str],
    hidden: frozenset[str],
    hosts: Sequence[tuple[str, str]],
    *,
    kind: str,
    output: Path | None,
    output_format: str,
) -> int:
    """Write the draft and the report."""
    from sparkiac import importers, pipeline, write
    from sparkiac.formats import imports
    from sparkiac.importers import assemble, naming

    try:
        entries = assemble.entries(launches, hidden)
    except importers.Unreadable as error:
        return _refuse([_finding(error.file or launches[0][0], error)], output_format)
    first = launches[0][0] if launches else "imported"
    text = assemble.inventory(entries, naming.plain(Path(first).stem, "imported"), hosts).text
    report = pipeline.check(pipeline.File(str(output or _DRAFT), text.encode()), None, allow_unlocked=True).report
    if kind == "recipe":
        text = _recipe(entries)
    if output is None:
        click.echo(text, nl=False)
    else:
        write.replace(output, text.encode())
    _print(entries, skipped, report, output_format)
    return Exit.FINDINGS if report.failed or imports.lost(entries) else Exit.OK


def _recipe(entries: Sequence[tuple[str, Entry]]) -> str:
    from sparkiac.importers import assemble

    deployments = [(file, entry) for file, entry in entries if entry.kind == "deployment"]
    if len(deployments) != 1:
        names = ", ".join(entry.name for _, entry in deployments) or "none"
        message = f"--as recipe drafts one recipe, and the files start {len(deployments)} servers: {names}"
        raise click.UsageError(message)
    return assemble.recipe(*deployments[0])


def _print(entries: Sequence[tuple[str, Entry]], skipped: Sequence[str], report: Report, output_format: str) -> None:
    """Print the report to standard error: the draft has the other stream."""
    import json

    from sparkiac.formats import imports
    from sparkiac.formats import text as of_text

    if output_format == "json":
        click.echo(json.dumps({"format_version": 1} | imports.data(entries, skipped, report), indent=1), err=True)
    elif entries:
        click.echo(imports.text(entries, skipped, report, colour=of_text.wants_colour(sys.stderr)), err=True, nl=False)
    else:
        click.echo(of_text.findings(report, colour=of_text.wants_colour(sys.stderr)), err=True, nl=False)
