"""`sparkiac diff`: show a reviewer what a change of an inventory does to the hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from sparkiac.commands.inputs import Exit, print_json, read, reject, show

_TWO: Final = "name two inventories, OLD and NEW; or one with --git REV, which takes OLD from a commit"


@click.command()
@click.argument("inventories", nargs=-1, type=click.Path(path_type=Path), metavar="OLD NEW")
@click.option("--git", "revision", metavar="REV", help="Take OLD from a commit, branch or tag; name only INVENTORY.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    help="Output format; markdown is a comment for a pull request.",
)
def diff(inventories: tuple[Path, ...], revision: str | None, output_format: str) -> int:
    """Show what changes if the inventory NEW replaces OLD: hosts, restarts, memory, versions and findings.

    With --git REV, name one inventory: it is compared with itself in that commit, with its lock and the files beside
    it. No host is contacted. Units restart for the same reasons as in `sparkiac apply`, which also compares what is on
    the hosts. Missing pins and example locks are findings here and stop nothing.

    Exit codes: 0 compared, with or without differences; 2 bad input.
    """
    wanted = 1 if revision is not None else 2
    if len(inventories) != wanted:
        reject("--git REV takes one inventory" if revision is not None else _TWO)
    from sparkiac.commands.diff import changes, side
    from sparkiac.report import Report
    from sparkiac.words import diff as words

    new_path = inventories[-1]
    new_files = read(new_path)
    old_files = side.from_disk(inventories[0], new_path) if revision is None else side.from_git(revision, new_path)
    old, new = side.checked(old_files), side.checked(new_files)
    if not isinstance(old, side.Side) or not isinstance(new, side.Side):
        refused = Report.of(each for one in (old, new) if isinstance(one, Report) for each in one.findings)
        show(refused, "json" if output_format == "json" else "text")
        return Exit.BAD_INPUT
    found = changes.between(old, new)
    if output_format == "json":
        print_json(words.data(found))
    else:
        click.echo((words.markdown if output_format == "markdown" else words.text)(found), nl=False)
    return Exit.OK
