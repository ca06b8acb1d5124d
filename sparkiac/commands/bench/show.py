"""`sparkiac bench show`: a record as tables, Markdown, JSON or a chart."""

from __future__ import annotations

from pathlib import Path

import click

from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import print_json

RECORD = click.Path(dir_okay=False, path_type=Path)
FORMAT = click.option(
    "--format", "output_format", type=click.Choice(["text", "markdown", "json"]), default="text", help="Output format."
)
PLOT = click.option("--plot", type=click.Path(path_type=Path), help="Also write a chart to this file (SVG).")


@click.command()
@click.argument("record", type=RECORD)
@FORMAT
@PLOT
def show(record: Path, output_format: str, *, plot: Path | None) -> int:
    """Show RECORD: a record of sparkiac, or an output of vllm bench serve, llama-benchy or tool-eval-bench.

    Exit codes: 0 done, 1 nothing to draw, 2 the file cannot be read, 6 the chart cannot be written.
    """
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
