"""`sparkiac bench compare`: two records, with the noise taken into account."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sparkiac.commands.bench.show import FORMAT, PLOT, RECORD
from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import print_json

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@click.argument("first", type=RECORD)
@click.argument("second", type=RECORD)
@FORMAT
@PLOT
def compare(first: Path, second: Path, output_format: str, *, plot: Path | None) -> int:
    """Compare the record SECOND with FIRST: faster, slower, or cannot tell.

    Each quantity of each point is tested (Mann-Whitney, corrected for the number of tests by Holm's method): two equal
    runs differ at most once in fifty comparisons. Differences below 2 % do not count.

    Exit codes: 0 faster or cannot tell, 1 something is slower, 2 a file cannot be read, 6 the chart cannot be written.
    """
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
