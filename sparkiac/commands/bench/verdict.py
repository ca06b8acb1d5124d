"""`sparkiac bench compare`: two records, with the noise taken into account."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import print_json

if TYPE_CHECKING:
    from pathlib import Path


def compare(first: Path, second: Path, output_format: str, plot: Path | None) -> int:
    """Print the comparison of two records, and draw both."""
    from sparkiac.bench import comparison, markdown
    from sparkiac.commands.bench import files, page
    from sparkiac.formats import terminal

    records = files.read(first), files.read(second)
    found = comparison.compare(*records)
    if not found.rows:
        message = "the records have no point in common: measure the same mode with the same levels"
        raise click.UsageError(message)
    if output_format == "json":
        print_json({**found._asdict(), "rows": [row._asdict() for row in found.rows]})
    elif output_format == "markdown":
        click.echo(markdown.of_comparison(found), nl=False)
    else:
        terminal.show(page.comparison(found))
    drawn = files.plot(plot, list(zip((first.stem, second.stem), records, strict=True))) if plot else Exit.OK
    slower = any(row.verdict == comparison.SLOWER for row in found.rows)
    return drawn or (Exit.FINDINGS if slower else Exit.OK)
