"""`sparkiac docs`: the documentation of the installed version, without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import known

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@click.argument("page", required=False)
def docs(page: str | None) -> int:
    """Show a PAGE of the documentation, or list the pages. No network is needed.

    On a terminal, the page is shown in the program that PAGER names, such as less; otherwise its Markdown is printed.

    Exit codes: 0 shown, 2 unknown page.
    """
    from sparkiac import assets
    from sparkiac.formats import terminal

    pages = {name.removesuffix(".md"): path for name, path in assets.files("docs") if name.endswith(".md")}
    if page is None:
        terminal.show([terminal.grid((name, _title(path)) for name, path in pages.items())])
        return Exit.OK
    text = pages[known("page", page, pages)].read_text("utf-8")
    if terminal.is_terminal():
        from sparkiac.formats import markdown

        click.echo_via_pager(terminal.drawn(markdown.page(text)))
    else:
        click.echo(text, nl=False)
    return Exit.OK


def _title(path: Path) -> str:
    """Return the heading of a page."""
    return path.read_text("utf-8").partition("\n")[0].removeprefix("# ")
