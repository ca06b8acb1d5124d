"""`sparkiac diff`: show a reviewer what a change of an inventory does to the hosts."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from sparkiac.commands.inputs import (
    Exit,
    interfaces_path,
    links_path,
    lock_path,
    measurements_path,
    print_json,
    read,
    recipes_path,
    reject,
    show,
)
from sparkiac.commands.inventories import only_inventory
from sparkiac.report.characters import escaped_line

if TYPE_CHECKING:
    from sparkiac.catalog.library import RecipeText
    from sparkiac.pipeline import InputFile

    Inputs: TypeAlias = tuple[InputFile, InputFile | None]

_SUFFIXES: Final = frozenset({".yaml", ".yml"})
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
    if revision is not None:
        inventories = inventories or (only_inventory(),)
    wanted = 1 if revision is not None else 2
    if len(inventories) != wanted:
        reject("--git REV takes one inventory" if revision is not None else _TWO)
    from sparkiac.commands.diff import changes
    from sparkiac.report import Report
    from sparkiac.words import diff as words

    new_path = inventories[-1]
    new_files = read(new_path)
    old_files = _from_disk(inventories[0], new_path) if revision is None else _from_git(revision, new_path)
    old, new = changes.checked(old_files), changes.checked(new_files)
    if not isinstance(old, changes.Side) or not isinstance(new, changes.Side):
        refused = Report.of(each for one in (old, new) if isinstance(one, Report) for each in one.findings)
        show(refused, "json" if output_format == "json" else "text")
        return Exit.BAD_INPUT
    found = changes.between(old, new)
    if output_format == "json":
        print_json(words.data(found))
    else:
        click.echo((words.markdown if output_format == "markdown" else words.text)(found), nl=False)
    return Exit.OK


def _from_disk(inventory: Path, other: Path) -> Inputs:
    """Read an inventory; if there is no such file, the error suggests a revision of `other`."""
    try:
        return read(inventory)
    except click.UsageError as error:
        if inventory.exists() or inventory.suffix in _SUFFIXES:
            raise
        named = " ".join(map(click.format_filename, (inventory, other)))
        reject(f"{error.message}; to compare with a commit: sparkiac diff --git {named}")


def _from_git(revision: str, inventory: Path) -> Inputs:
    """Read an inventory, its lock and the files beside it from a commit."""
    from sparkiac.upstream import git
    from sparkiac.upstream.programs import ProgramError

    single = (inventory, lock_path(inventory), links_path(inventory))
    folders = (interfaces_path(inventory), measurements_path(inventory))
    recipes = Path(os.path.relpath(recipes_path(inventory), inventory.parent))
    shared = (recipes, recipes.with_name("facts"), recipes.with_name("sources"))
    wanted = [*(path.name for path in single), *(f"{path.name}/" for path in folders), *(f"{each}/" for each in shared)]
    try:
        found = git.files(inventory.parent, revision, wanted)
    except ProgramError as error:
        message = f"{click.format_filename(inventory)} cannot be read from {revision}: {error}"
        reject(escaped_line(message))
    if inventory.name not in found:
        reject(f"{revision} has no {click.format_filename(inventory)}; name a commit that has it")
    with tempfile.TemporaryDirectory(prefix="sparkiac-diff-") as folder:
        return _read_copy(Path(folder), found, revision, inventory)


def _read_copy(folder: Path, found: dict[str, bytes], revision: str, inventory: Path) -> Inputs:
    """Write the files to a folder and read them as from disk; messages name the revision instead of the folder."""
    base = folder / inventory.resolve().parent.name
    for name, content in found.items():
        path = Path(os.path.normpath(base / name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    try:
        main, lock = read(base / inventory.name)
    except click.UsageError as error:
        reject(error.message.replace(str(base), f"{revision}:{inventory.parent}"))
    own = str(recipes_path(base / inventory.name)), f"{revision}:{recipes_path(inventory)}"
    facts, beside = ([str(Path(each).with_name(name)) for each in own] for name in ("facts", "sources"))
    recipes = _renamed(_renamed(main.recipes, *own), *facts)
    fetched = {name: _renamed(files, *beside) for name, files in main.fetched.items()}
    named = main._replace(name=f"{revision}:{inventory}", recipes=recipes, fetched=fetched)
    return named, lock._replace(name=f"{revision}:{lock_path(inventory)}") if lock else None


def _renamed(files: tuple[RecipeText, ...], folder: str, shown: str) -> tuple[RecipeText, ...]:
    return tuple(each._replace(path=each.path.replace(folder, shown, 1)) for each in files)
