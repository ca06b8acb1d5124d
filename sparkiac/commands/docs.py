"""`sparkiac docs`: the documentation of the installed version, without a network."""

from __future__ import annotations

from pathlib import Path

import click

from sparkiac.commands import completion
from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import known


@click.command()
@click.argument("page", required=False, shell_complete=completion.pages)
@click.option("--man", is_flag=True, help="Print the manual page of this version, for man.")
def docs(page: str | None, *, man: bool) -> int:
    """Show a PAGE of the documentation, or list the pages. No network is needed.

    On a terminal, the page is shown in the program that PAGER names, such as less; otherwise its Markdown is printed.

    Exit codes: 0 shown, 2 unknown page.
    """
    from sparkiac.formats import terminal
    from sparkiac.report import assets

    if man:
        if page is not None:
            message = "--man prints the manual page; remove PAGE"
            raise click.UsageError(message)
        click.echo(_manual(), nl=False)
        return Exit.OK
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


def _manual() -> str:
    from sparkiac import __version__
    from sparkiac.formats import manual
    from sparkiac.model.schema import descriptions

    root = click.get_current_context().find_root().command
    assert isinstance(root, click.Group)  # noqa: S101
    meanings = descriptions(Exit)
    return manual.page(root, "sparkiac", __version__, {int(each): meanings[each.name] for each in Exit})


def _title(path: Path) -> str:
    return path.read_text("utf-8").partition("\n")[0].removeprefix("# ")
