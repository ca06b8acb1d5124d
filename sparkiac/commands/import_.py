"""`sparkiac import`: convert files of other tools to a draft inventory, and report what was lost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from sparkiac.commands import prompts
from sparkiac.commands.inputs import AS_JSON, Exit, known, printable, reject, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sparkiac.catalog.library import RecipeText
    from sparkiac.foreign import Unreadable
    from sparkiac.foreign.draft import DraftEntry
    from sparkiac.foreign.launch import Launch
    from sparkiac.report import Finding, Report

_DRAFT: Final = "draft.yaml"
"""File name in findings of a draft that goes to standard output."""
_STDIN: Final = "-"
_MAX_BYTES: Final = 1 << 20


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True), metavar="FILE…")
@click.option("--from", "source", metavar="FORMAT", help="Input format; detected if omitted.")
@click.option("--as", "kind", type=click.Choice(["inventory", "recipe"]), default="inventory", help="Kind of draft.")
@click.option(
    "--host", "hosts", metavar="NAME=ADDRESS", multiple=True, help="Host for the deployments. May be repeated."
)
@click.option(
    "--set", "given", metavar="NAME=VALUE", multiple=True, help="Value of a variable that the files leave open."
)
@click.option("--env-file", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="File with such values.")
@click.option("--output", type=click.Path(path_type=Path), help="Output file for the draft; it must not exist.")
@AS_JSON
def import_(  # noqa: PLR0913, PLR0917  click hands over one argument for each option
    files: tuple[Path, ...],
    source: str | None,
    kind: str,
    hosts: tuple[str, ...],
    given: tuple[str, ...],
    env_file: Path | None,
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
    from sparkiac.foreign import IMPORTED
    from sparkiac.report import Report

    if source is not None:
        known("format", source, IMPORTED)
    placed = tuple(prompts.host(each) for each in hosts)
    if output is not None and (output.exists() or output.is_symlink()):
        reject(f"{click.format_filename(output)} exists; name another file, or remove it")
    found = read_files(files, source, _values(given, env_file))
    if found.findings:
        _print((), (), Report.of(found.findings), output_format)
        return Exit.BAD_INPUT
    return _write(found, placed, kind=kind, output=output, output_format=output_format)


def _write(
    found: Foreign, hosts: Sequence[tuple[str, str]], *, kind: str, output: Path | None, output_format: str
) -> int:
    from sparkiac import pipeline, write
    from sparkiac.foreign import assemble
    from sparkiac.foreign.draft import slug
    from sparkiac.words import imports as of_import

    entries = found.entries
    first = entries[0][0] if entries else "imported"
    text = assemble.inventory(entries, slug(Path(first).stem, "imported"), hosts)
    report = pipeline.check(pipeline.InputFile(str(output or _DRAFT), text.encode()), None, allow_unlocked=True).report
    if kind == "recipe":
        text, entries = one_recipe(found)
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


class Foreign(NamedTuple):
    """Result of reading files of other tools."""

    entries: tuple[tuple[str, DraftEntry], ...]
    """Pairs of a file and a deployment or service; empty if a file cannot be read."""
    skipped: tuple[str, ...]
    """Files of a directory that contain nothing to import."""
    findings: tuple[Finding, ...]
    """One finding for each file that cannot be read."""
    hidden: frozenset[str] = frozenset()
    """Secrets in the files."""


def _values(given: Sequence[str], env_file: Path | None) -> dict[str, str]:
    """Return the variables of --env-file and --set. Raises click.UsageError."""
    from sparkiac.foreign import Unreadable
    from sparkiac.foreign.shell_words import script

    if wrong := [each for each in given if "=" not in each]:
        reject(f"--set {wrong[0]}: write NAME=VALUE")
    try:
        read = script(_decoded(_bytes(env_file))).variables if env_file else {}
    except Unreadable as error:
        reject(f"{click.format_filename(env_file or '')}:{error.line}: {error}")
    own = {name: value for name, value in read.items() if isinstance(value, str)}
    return own | dict(each.split("=", 1) for each in given)


def read_files(files: Sequence[Path], source: str | None = None, given: Mapping[str, str] = {}) -> Foreign:
    """Read files, directories and standard input (`-`) in the given format, or detect each format.

    `given` are values of variables that the files leave open.

    Raises click.UsageError for a file that is not there.
    """
    from sparkiac import foreign
    from sparkiac.foreign import assemble, redaction

    launches: list[tuple[str, Launch]] = []
    skipped: list[str] = []
    findings: list[Finding] = []
    hidden = redaction.secret_values("\n".join(map("=".join, given.items())))
    for name, raw, named in _texts(files):
        text = ""
        try:
            text = _decoded(raw)
            launches += [(name, launch) for launch in _launches(text, name, source, given)]
            hidden |= redaction.secret_values(text)
        except foreign.Unreadable as error:
            if not named and (not text or isinstance(error, foreign.NothingToImport)):
                skipped.append(name)
            else:
                findings.append(_finding(name, error, redaction.safe_line(text, error.line)))
    try:
        entries = () if findings else compared(assemble.entries(launches, hidden), hidden)
    except foreign.Unreadable as error:
        entries, findings = (), [_finding(error.file or launches[0][0], error)]
    return Foreign(tuple(entries), tuple(skipped), tuple(findings), hidden)


def compared(
    entries: Sequence[tuple[str, DraftEntry]], hidden: frozenset[str], *recipes: RecipeText
) -> Sequence[tuple[str, DraftEntry]]:
    """Compare each entry with what its draft renders, with these recipes; a draft with faults is left to `check`."""
    from sparkiac import pipeline
    from sparkiac.foreign import assemble, comparison

    text = assemble.inventory(entries, "draft", ())
    planned = pipeline.planned(pipeline.InputFile(_DRAFT, text.encode(), recipes=recipes))
    if planned is None:
        return entries
    found, plan = planned
    hidden |= assemble.secret_values([entry.launch for _, entry in entries])
    return tuple((file, comparison.compared(entry, plan, found.leaves, hidden)) for file, entry in entries)


def one_recipe(found: Foreign) -> tuple[str, tuple[tuple[str, DraftEntry], ...]]:
    """Return the recipe of the only server that the files start, and the entries with notes on what differs in it.

    Raises click.UsageError for another number, and for a difference without a reason.
    """
    from sparkiac.foreign import Unreadable, recipes

    deployments = [(file, entry) for file, entry in found.entries if entry.kind == "deployment"]
    if len(deployments) != 1:
        names = ", ".join(entry.name for _, entry in deployments) or "none"
        reject(f"a recipe starts one server, and the files start {len(deployments)}: {names}")
    [(file, drafted)] = deployments
    try:
        text, entry = recipes.proven(file, drafted, f"imported/{drafted.name}", found.hidden, compared)
    except Unreadable as error:
        reject(f"{file}:{error.line}: {error}")
    return text, tuple((name, entry if each is drafted else each) for name, each in found.entries)


def _launches(text: str, name: str, source: str | None, given: Mapping[str, str]) -> Sequence[Launch]:
    from sparkiac import foreign

    chosen = source or foreign.recognised(text, name)
    if chosen is None:
        message = f"format not recognised; set it with `sparkiac import --from`, one of {', '.join(foreign.IMPORTED)}"
        raise foreign.NothingToImport(message)
    return foreign.importer(chosen).read(text, name=name, given=given)


def _texts(files: Sequence[Path]) -> Iterator[tuple[str, bytes, bool]]:
    """Return each file with its bytes and whether it was named itself; a directory's files in order of name."""
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
            reject(f"{click.format_filename(path)} does not exist or is not a file")


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MAX_BYTES + 1)


def _decoded(raw: bytes) -> str:
    from sparkiac.foreign.launch import Unreadable, decoded

    if len(raw) > _MAX_BYTES:
        raise Unreadable(f"the file has more than {_MAX_BYTES} bytes")
    return decoded(raw)


def _finding(file: str, error: Unreadable, line: str = "") -> Finding:
    from sparkiac.report import Finding, Loc, Mark, Severity

    mark = Mark(error.line, error.column, error.line, error.column + 1)
    return Finding("IMP001", "unreadable", Severity.ERROR, str(error), Loc(file, mark, line))
