"""Shared by commands that change files of the user: refuse new errors, write the file, print the diff."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from sparkiac.commands.inputs import Exit, measurements_path, show
from sparkiac.model.records import StartRecord
from sparkiac.pipeline import InputFile, Outcome
from sparkiac.report import Report, hints
from sparkiac.report.hints import OPEN_POINT
from sparkiac.words.page import Data

_NEXT = "next: {1}sparkiac lock {0}, sparkiac generate {0}, sparkiac apply {0}"
_PLACEHOLDERS = "replace {1}, which sparkiac check {0} names, then "


def save(  # noqa: PLR0913, PLR0917  the inventory as it is and as it will be
    inventory: Path,
    files: tuple[InputFile, InputFile | None],
    former: Report,
    text: str,
    output_format: str,
    proposal: Data | None = None,
) -> int:
    """Write the new text of an inventory, unless it has errors that are not in the report of the former one.

    Placeholders are such errors, but the user chose to leave these values open. The user has read a `proposal`.
    """
    from sparkiac import write
    from sparkiac.report import Report

    raw = text.encode()
    added = checked(files, text).report.new_errors(former)
    left = [each for each in added if each.code == OPEN_POINT]
    if added != left:
        show(Report.of(added), output_format, diff="")
        click.echo(f"{inventory}: nothing was written: the change would add these errors", err=True)
        return Exit.FINDINGS
    if not replaced(inventory, files[0].raw, raw, during="check"):
        return Exit.BUSY
    diff = write.diff_of(str(inventory), files[0].raw, raw)
    if output_format == "json":
        show(Report(), "json", diff=diff, **({"proposal": proposal} if proposal else {}))
    else:
        if proposal is None:
            click.echo(diff, nl=False)
        name = click.format_filename(inventory)
        first = _PLACEHOLDERS.format(name, hints.placeholders(len(left))) if left else ""
        click.echo(_NEXT.format(name, first), err=True)
    return Exit.OK


def replaced(path: Path, former: bytes | None, new: bytes, *, during: str) -> bool:
    """Write a file if it is still as it was read; otherwise write nothing and say so."""
    from sparkiac import write

    if (path.read_bytes() if path.exists() else None) != former:
        click.echo(f"{path} changed during the {during}; nothing was written", err=True)
        return False
    write.replace(path, new)
    return True


def checked(files: tuple[InputFile, InputFile | None], text: str) -> Outcome:
    """Check an inventory with another text."""
    from sparkiac import pipeline

    return pipeline.check(files[0]._replace(raw=text.encode()), files[1], allow_unlocked=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """End the command with exit code 6 if the file cannot be written."""
    try:
        yield
    except OSError as error:
        click.echo(f"{click.format_filename(path)}: {error.strerror}", err=True)
        raise click.exceptions.Exit(Exit.IO) from None


def store(inventory: Path, deployment: str, record: StartRecord, records: tuple[StartRecord, ...]) -> Path:
    """Write a record and return its path; raise OSError.

    What an earlier one of `records` states about the same server, and this one does not, stays.
    """
    from sparkiac import write
    from sparkiac.plan import start_records

    found = record
    for before in reversed(records):
        found = start_records.merged(before, found)
    path = measurements_path(inventory) / start_records.file_name(deployment, record.subject)
    path.parent.mkdir(parents=True, exist_ok=True)
    write.replace(path, start_records.text(found).encode())
    return path
