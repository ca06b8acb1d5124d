"""Files of records: where a new one is written, and reading those of sparkiac and of other programs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sparkiac.commands.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.model.bench import BenchRecord

_SAFE: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")


def now() -> str:
    """Return the date and time, UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def place(inventory: Path | None, record: BenchRecord) -> Path:
    """Return the path of a new record."""
    subject = record.subject
    name = "".join(each if each in _SAFE else "-" for each in subject.title.lower())
    moment = record.taken.replace(":", "").replace("-", "")
    folder = (inventory.parent if inventory else Path()) / "measurements/bench"
    return folder / f"{name}-{record.mode}-{moment}.json"


def store(path: Path, text: str) -> None:
    """Write a file and its directory. The file is complete or unchanged. Raises OSError."""
    from sparkiac import write

    path.parent.mkdir(parents=True, exist_ok=True)
    write.replace(path, text.encode())


def read(path: Path) -> BenchRecord:
    """Read a record, or the output of another benchmark."""
    from sparkiac.bench import foreign

    try:
        return foreign.read(path.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        message = f"{click.format_filename(path)}: {error.strerror}"
        raise click.UsageError(message) from None
    except ValueError as error:
        message = f"{click.format_filename(path)}: {error}"
        raise click.UsageError(message) from None


def plot(path: Path, listed: Sequence[tuple[str, BenchRecord]]) -> Exit:
    """Write the chart of one or two records."""
    from sparkiac.bench import chart

    drawn = chart.svg(listed)
    if drawn is None:
        click.echo("the record has no samples to draw", err=True)
        return Exit.FINDINGS
    try:
        store(path, drawn)
    except OSError as error:
        click.echo(f"{click.format_filename(path)}: {error.strerror}", err=True)
        return Exit.IO
    click.echo(f"Chart: {path}", err=True)
    return Exit.OK
