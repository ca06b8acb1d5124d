"""Shared by commands: exit codes and options, reading the inventory and its lock, printing findings and data."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TextIO, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sparkiac.catalog.interfaces import Captured
    from sparkiac.catalog.library import RecipeText
    from sparkiac.model.records import LinkRecord, StartRecord
    from sparkiac.pipeline import InputFile, Outcome
    from sparkiac.plan import Plan
    from sparkiac.report import Report
    from sparkiac.rules.rule import Hidden
    from sparkiac.words.page import Block


class Exit(IntEnum):
    """Exit code of a command."""

    OK = 0
    """The command succeeded; a check found nothing."""
    FINDINGS = 1
    """A check found something: an error of the inventory, or a promise that a host does not keep."""
    BAD_INPUT = 2
    """Wrong usage, or an inventory that cannot be read, resolved or planned."""
    STALE = 3
    """Generated files are stale or were edited by hand, or a host differs from them."""
    LOCK = 4
    """The lock of the inventory is missing, incomplete or stale."""
    BUSY = 5
    """Another run works on the same files or hosts."""
    IO = 6
    """A read, write, program or connection failed."""
    INTERRUPTED = 130
    """Interrupted, such as by Ctrl-C."""


T = TypeVar("T")
LOCK_SUFFIX: Final = ".lock.yaml"
WRITE_EXITS: Final = {"WouldOverwrite": Exit.STALE, "UnsafeTarget": Exit.IO, "Busy": Exit.BUSY}
"""Error of the package `write` → exit code."""
FORMAT = click.option(
    "--format", "output_format", type=click.Choice(["text", "json"]), default="text", help="Output format of findings."
)

AS_JSON = click.option(
    "--format", "output_format", type=click.Choice(["text", "json"]), default="text", help="Output format."
)


class Planned(NamedTuple):
    """An inventory that has a plan."""

    files: tuple[InputFile, InputFile | None]
    """The inventory and its lock."""
    plan: Plan
    report: Report


class CommandGroup(click.Group):
    """A command with subcommands; an unknown subcommand is an error that suggests the nearest name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand that the first word names."""
        if args and not args[0].startswith("-"):
            known("command", args[0], self.list_commands(ctx), ctx=ctx)
        return super().resolve_command(ctx, args)


def known(what: str, word: str, words: Iterable[str], *, ctx: click.Context | None = None) -> str:
    """Return the word if it is known; otherwise raise an error that suggests the nearest one."""
    words = list(words)
    if word in words:
        return word
    from sparkiac.report.hints import nearest

    # Users often type a recipe's name without its vendor.
    ends = [each for each in words if each.partition("/")[2] == word]
    hint = f"did you mean {' or '.join(map(repr, ends))}?" if ends else nearest(word, words) or f"there is no {what}"
    raise click.UsageError(f"unknown {what} {word!r}; {hint}", ctx or click.get_current_context())


def reject(message: str) -> NoReturn:
    """End the command with a message about a mistake of the user."""
    raise click.UsageError(message) from None


def print_json(data: dict[str, Any]) -> None:
    """Print data as sorted ASCII JSON."""
    click.echo(json.dumps({"format_version": 1} | data, indent=1, sort_keys=True))


def answer(output_format: str, data: dict[str, Any], page: Callable[[int], Iterable[Block]]) -> None:
    """Print data as JSON, or else the page, which gets the width of the terminal."""
    if output_format == "json":
        print_json(data)
        return
    from sparkiac.commands import terminal

    terminal.show(page(terminal.width()))


def read(inventory: Path) -> tuple[InputFile, InputFile | None]:
    """Read an inventory and its lock, if there is one."""
    from sparkiac.pipeline import InputFile

    if not inventory.is_file():
        named = f"{click.format_filename(inventory)} {_missing(inventory)}"
        reject(f"{named}; name an inventory file, such as inventories/lab.yaml")
    printable(inventory)
    if inventory.name.endswith(LOCK_SUFFIX):
        fitting = inventory.with_name(f"{inventory.name.removesuffix(LOCK_SUFFIX)}.yaml")
        reject(f"{click.format_filename(inventory)} is a lock; name its inventory, {click.format_filename(fitting)}")
    lock = lock_path(inventory)
    own = recipes_path(inventory)
    recipes = own_files(own.parent), source_files(own.with_name("sources"))
    interfaces = {digest: each.interface for each in captures(inventory).values() for digest in each.digests}
    beside = interfaces, measured(inventory), link_speeds(inventory), *recipes
    return (
        InputFile(str(inventory), inventory.read_bytes(), *beside),
        InputFile(str(lock), lock.read_bytes()) if lock.is_file() else None,
    )


def planned(inventory: Path, output_format: str = "text", *, hidden: Hidden | None = None) -> Planned:
    """Read and plan an inventory, also without pins; without a plan, print the findings and end with exit code 2."""
    from sparkiac import pipeline

    files = read(inventory)
    outcome = pipeline.check(*files, allow_unlocked=True, hidden=hidden)
    if outcome.plan is None:
        show(outcome.report, output_format)
        raise click.exceptions.Exit(Exit.BAD_INPUT)
    return Planned(files, outcome.plan, outcome.report)


def hashes(files: tuple[InputFile, InputFile | None]) -> dict[str, str]:
    """Return name and hash of each input. Names have no folder, so that output does not depend on where it runs."""
    return {Path(file.name).name: hashlib.sha256(file.raw).hexdigest() for file in files if file is not None}


def _missing(path: Path) -> str:
    """Return why the path cannot be read as a file."""
    if path.is_dir():
        return "is a directory"
    if path.is_symlink() and not path.exists():
        return "is a symbolic link to itself or to a missing file"
    return "is not a file" if path.exists() else "does not exist"


def captures(inventory: Path) -> dict[str, Captured]:
    """Read the vLLM interfaces that were captured from images: files of the folder `interfaces`, keyed by name."""
    from sparkiac.catalog import interfaces

    return {path.name: each for path, each in _records(interfaces_path(inventory), interfaces.captured, "capture")}


def measured(inventory: Path) -> tuple[StartRecord, ...]:
    """Read the recorded starts in the folder `measurements` beside an inventory, by file name."""
    from sparkiac.model.records import StartRecord

    return tuple(each for _, each in _records(measurements_path(inventory), StartRecord.from_json, "record"))


def _records(folder: Path, parse: Callable[[bytes], T], remedy: str) -> Iterator[tuple[Path, T]]:
    """Read the JSON files of a folder in order of name."""
    for path in sorted(folder.glob("*.json")):
        try:
            yield path, parse(path.read_bytes())
        except (OSError, ValueError) as error:
            reject(f"{click.format_filename(path)} cannot be read: {error}; {remedy} it again, or remove it")


def measurements_path(inventory: Path) -> Path:
    """Return the folder of recorded starts; inventories in one folder share it."""
    return inventory.with_name("measurements")


def recipes_path(inventory: Path) -> Path:
    """Return the folder of recipes: beside the folder `inventories`, or beside an inventory that is not in one."""
    folder = inventory.parent
    if folder.resolve().name != "inventories":
        return folder / "recipes"
    return (folder.parent if folder.name == "inventories" else folder / "..") / "recipes"


def recipe_files(folder: Path) -> tuple[RecipeText, ...]:
    """Read the recipes and variants below a folder, each recipe before its variants."""
    found = []
    for path in sorted(each for suffix in ("yaml", "yml") for each in folder.glob(f"**/*.{suffix}")):
        from sparkiac.catalog.library import RecipeText

        found.append(
            RecipeText(str(printable(path)), path.relative_to(folder).with_suffix("").parts, path.read_bytes())
        )
    return tuple(sorted(found, key=lambda file: file.parts))


def own_files(repository: Path) -> tuple[RecipeText, ...]:
    """Read the recipes and the facts of a repository."""
    facts = recipe_files(repository / "facts")
    return (*recipe_files(repository / "recipes"), *(each._replace(parts=("facts", *each.parts)) for each in facts))


def source_files(folder: Path) -> dict[str, tuple[RecipeText, ...]]:
    """Read the fetched recipes below a folder, by name of their source."""
    return {each.name: recipe_files(each) for each in sorted(folder.glob("*")) if each.is_dir()}


def interfaces_path(inventory: Path) -> Path:
    """Return the folder of captured vLLM interfaces; inventories in one folder share it."""
    return inventory.with_name("interfaces")


def link_speeds(inventory: Path) -> LinkRecord | None:
    """Read the record of `sparkiac fabric verify` beside an inventory, if there is one."""
    path = links_path(inventory)
    if not path.is_file():
        return None
    from sparkiac.model.records import LinkRecord

    try:
        return LinkRecord.from_json(path.read_bytes())
    except ValueError as error:
        hint = "remove it and run `sparkiac fabric verify` again"
        reject(f"{click.format_filename(path)} is not a record of link speeds: {error}; {hint}")


def links_path(inventory: Path) -> Path:
    """Return the path of an inventory's record of link speeds: lab.yaml → lab.links.json."""
    return inventory.with_name(f"{inventory.stem}.links.json")


def printable(path: Path) -> Path:
    """Return the path; refuse one with characters that cannot be printed in a message or manifest."""
    if not str(path).isprintable():
        reject(f"{click.format_filename(path)} has an unprintable character in its name")
    return path


def lock_path(inventory: Path) -> Path:
    """Return the path of an inventory's lock: lab.yaml → lab.lock.yaml."""
    return inventory.with_name(f"{inventory.stem}{LOCK_SUFFIX}")


def exit_code(outcome: Outcome) -> Exit:
    """Return the exit code for the result of a check."""
    if outcome.plan is None:
        return Exit.BAD_INPUT
    return Exit.FINDINGS if outcome.report.failed else Exit.OK


def refuse(outcome: Outcome, inventory: Path, output_format: str, advice: str) -> Exit:
    """Print the errors of an inventory and return the exit code; `advice` follows if only the lock is incomplete."""
    show(outcome.report, output_format)
    if not outcome.only_unpinned:
        return exit_code(outcome)
    if output_format == "text":
        lock = lock_path(inventory)
        state = "does not pin everything" if lock.is_file() else "does not exist"
        click.echo(f"{lock} {state}: {advice.format(click.format_filename(inventory))}", err=True)
    return Exit.LOCK


def show(report: Report, output_format: str, **extra: Any) -> None:  # noqa: ANN401  plain JSON data
    """Print findings: text to standard error, JSON (with `extra`) to standard output."""
    from sparkiac.words.findings import as_data, as_text

    if output_format == "json":
        click.echo(json.dumps(as_data(report) | extra, indent=1))
    else:
        click.echo(as_text(report, colour=wants_colour(sys.stderr)), err=True, nl=False)


def mention(report: Report, inventory: Path) -> None:
    """Print the number and codes of the findings and which command shows them."""
    from sparkiac.words.findings import counts

    if report.findings:
        codes = ", ".join(sorted({finding.code for finding in report.findings}))
        click.echo(f"{counts(report)} ({codes}); sparkiac check {click.format_filename(inventory)} shows all", err=True)


def wants_colour(stream: TextIO) -> bool:
    """Return whether to use colours: only on a terminal, and never with NO_COLOR (see no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
