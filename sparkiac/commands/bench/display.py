"""`sparkiac bench show`: a record as tables, Markdown, JSON or a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import print_json

if TYPE_CHECKING:
    from pathlib import Path


def show(record: Path, output_format: str, plot: Path | None) -> int:
    """Print a record, and draw it."""
    from sparkiac.bench import markdown
    from sparkiac.commands.bench import files, page
    from sparkiac.formats import terminal

    found = files.read(record)
    if output_format == "json":
        print_json({"record": found.model_dump(mode="json")})
    elif output_format == "markdown":
        click.echo(markdown.of_record(found), nl=False)
    else:
        terminal.show(page.page(found))
    return files.plot(plot, [(record.stem, found)]) if plot else Exit.OK
