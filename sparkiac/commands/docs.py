"""`sparkiac docs`: the documentation of the installed version, without a network."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping

import click

from sparkiac.commands import completion
from sparkiac.commands.inputs import Exit, known, reject


@click.command()
@click.argument("page", nargs=-1, shell_complete=completion.pages)
@click.option("--man", is_flag=True, help="Print the manual page of this version, for man.")
def docs(page: tuple[str, ...], *, man: bool) -> int:
    """Show a PAGE of the documentation, or list the pages. No network is needed.

    `sparkiac docs tasks` lists the tasks of every day, and `sparkiac docs tasks NAME` has the commands of one.

    On a terminal, the page is shown in the program that PAGER names, such as less; otherwise its Markdown is printed.

    Exit codes: 0 shown, 2 unknown page.
    """
    from sparkiac.commands import terminal
    from sparkiac.report import assets
    from sparkiac.words.page import grid

    if man:
        if page:
            reject("--man prints the manual page; remove PAGE")
        click.echo(_manual(), nl=False)
        return Exit.OK
    pages = {name.removesuffix(".md"): path for name, path in assets.files("docs") if name.endswith(".md")}
    if not page:
        heads = {name: path.read_text("utf-8").partition("\n")[0] for name, path in pages.items()}
        terminal.show([grid((name, head.removeprefix("# ")) for name, head in heads.items())])
        return Exit.OK
    text = pages[known("page", "/".join(page).removesuffix(".md"), pages)].read_text("utf-8")
    if terminal.is_terminal():
        click.echo_via_pager(terminal.markdown(text))
    else:
        click.echo(text, nl=False)
    return Exit.OK


def _manual() -> str:
    from sparkiac import __version__
    from sparkiac.model.schema import descriptions

    root = click.get_current_context().find_root().command
    assert isinstance(root, click.Group)  # noqa: S101
    meanings = descriptions(Exit)
    return manual(root, "sparkiac", __version__, {int(each): meanings[each.name] for each in Exit})


def manual(root: click.Group, name: str, version: str, exits: Mapping[int, str]) -> str:
    """Return the manual page of a program; `exits` are the meanings of its exit codes."""
    return "\n".join(
        [
            f'.TH {name.upper()} 1 "" "{name} {version}"',
            *(".SH NAME", rf"{name} \- {_escaped(root.get_short_help_str(1000).removesuffix('.'))}"),
            *(".SH SYNOPSIS", rf"\fB{name}\fR COMMAND [OPTIONS] [ARGUMENTS]"),
            *(".SH DESCRIPTION", *_prose(root.help or "")),
            *(".SH COMMANDS", *_commands(click.Context(root, info_name=name, **root.context_settings))),
            *(".SH EXIT STATUS", *(line for code, text in exits.items() for line in _item(str(code), text))),
            *(".SH ENVIRONMENT", *_item("NO_COLOR", "Switches colours off.")),
            *(".SH SEE ALSO", rf"\fB{name} docs\fR lists the pages of the documentation.", ""),
        ]
    )


def _commands(context: click.Context) -> Iterator[str]:
    """Write the commands of a group, and those below them."""
    group = context.command
    if not isinstance(group, click.Group):
        return
    for each in group.list_commands(context):
        command = group.get_command(context, each)
        if command is not None and not command.hidden:
            # The parent has the names of the help option, which click stores in the command.
            yield from _command(click.Context(command, info_name=f"{context.info_name} {each}", parent=context))


def _command(context: click.Context) -> Iterator[str]:
    command, name = context.command, context.info_name or ""
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (rf".SS \fB{_escaped(name)}\fR {_escaped(usage)}", *_prose(command.help or ""))
    for each in command.params:
        record = each.get_help_record(context)
        if record is not None and record[1]:
            yield from _item(*record)
    yield from _commands(context)


def _item(term: str, text: str) -> Iterator[str]:
    """Write a term in bold with its meaning below it."""
    yield from (".TP", rf"\fB{_escaped(term)}\fR", _escaped(text))


def _prose(text: str) -> Iterator[str]:
    """Write a help text; paragraphs that keep their lines stay as they are."""
    for part in inspect.cleandoc(text).split("\n\n"):
        kept = part.removeprefix("\b\n")
        if kept == part:
            yield from (".PP", _escaped(" ".join(part.split())))
        else:
            yield from (".PP", ".nf", *(_escaped(line) for line in kept.splitlines()), ".fi")


def _escaped(text: str) -> str:
    """Escape what has a meaning in man: backslashes, hyphens, dots and quotes at the beginning; and non-ASCII text."""
    escaped = " ".join(text.split("\n")).replace("\\", r"\e").replace("-", r"\-").replace("`", "")
    ascii_only = re.sub(r"[^\x00-\x7f]", lambda found: rf"\[u{ord(found[0]):04X}]", escaped)
    return re.sub(r"^(?=[.'])", r"\\&", ascii_only)
