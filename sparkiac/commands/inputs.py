"""What commands read and print in common: the inventory, its lock, and the findings."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sparkiac.commands.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sparkiac.catalog.interfaces import Captured, Interface
    from sparkiac.pipeline import File, Outcome
    from sparkiac.report import Report

_LOCK: Final = ".lock.yaml"
INVENTORY = click.argument("inventory", type=click.Path(path_type=Path))
FORMAT = click.option(
    "--format", "output_format", type=click.Choice(["text", "json"]), default="text", help="How to print findings."
)

AS_JSON = click.option(
    "--format", "output_format", type=click.Choice(["text", "json"]), default="text", help="Text, or JSON for machines."
)


class Group(click.Group):
    """A command with commands below it; a wrong word gets the nearest one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names."""
        if args and not args[0].startswith("-"):
            known("command", args[0], self.list_commands(ctx), ctx=ctx)
        return super().resolve_command(ctx, args)


def known(what: str, word: str, words: Iterable[str], *, ctx: click.Context | None = None) -> str:
    """Give the word back if it is known; otherwise end with the nearest one."""
    words = list(words)
    if word in words:
        return word
    from sparkiac.hints import nearest

    # Many know a recipe by the part of its name that follows the vendor.
    ends = [each for each in words if each.partition("/")[2] == word]
    hint = f"did you mean {' or '.join(map(repr, ends))}?" if ends else nearest(word, words)
    message = f"no {what} is called {word!r}; {hint}"
    raise click.UsageError(message, ctx or click.get_current_context())


def print_json(data: dict[str, Any]) -> None:
    """Print plain data, sorted, in ASCII."""
    click.echo(json.dumps({"format_version": 1} | data, indent=1, sort_keys=True))


def read(inventory: Path) -> tuple[File, File | None]:
    """Read an inventory and, if it is there, the lock beside it."""
    from sparkiac.pipeline import File

    if not inventory.is_file():
        named = f"{click.format_filename(inventory)} {_missing(inventory)}"
        message = f"{named}; name an inventory file, such as inventories/lab.yaml"
        raise click.UsageError(message)
    printable(inventory)
    if inventory.name.endswith(_LOCK):
        fitting = inventory.with_name(f"{inventory.name.removesuffix(_LOCK)}.yaml")
        message = f"{click.format_filename(inventory)} is a lock; name its inventory, {click.format_filename(fitting)}"
        raise click.UsageError(message)
    lock = lock_path(inventory)
    return (
        File(str(inventory), inventory.read_bytes(), captured(inventory)),
        File(str(lock), lock.read_bytes()) if lock.is_file() else None,
    )


def _missing(path: Path) -> str:
    """Say why there is no file to read."""
    if path.is_dir():
        return "is a directory"
    if path.is_symlink() and not path.exists():
        return "is a symbolic link to itself, or to nothing"
    return "is not a file" if path.exists() else "does not exist"


def captured(inventory: Path) -> Mapping[str, Interface]:
    """Read what images said of their vLLM, from the folder `interfaces` beside an inventory."""
    said = captures(inventory).values()
    return {digest: each.interface for each in said for digest in each.digests}


def captures(inventory: Path) -> dict[str, Captured]:
    """Read the files of the folder `interfaces` beside an inventory, by their names."""
    found: dict[str, Captured] = {}
    for path in sorted(interfaces_path(inventory).glob("*.json")):
        from sparkiac.catalog import interfaces

        try:
            found[path.name] = interfaces.captured(path.read_bytes())
        except (OSError, ValueError) as error:
            message = f"{click.format_filename(path)} cannot be read: {error}; capture it again, or remove it"
            raise click.UsageError(message) from None
    return found


def interfaces_path(inventory: Path) -> Path:
    """Give the folder of what images said of their vLLM: one for all inventories beside it."""
    return inventory.with_name("interfaces")


def printable(path: Path) -> Path:
    """Give the path back; refuse one that no message and no manifest could carry."""
    if not str(path).isprintable():
        message = f"{click.format_filename(path)} has a character in its name that cannot be printed"
        raise click.UsageError(message)
    return path


def lock_path(inventory: Path) -> Path:
    """Give the path of an inventory's lock: lab.yaml → lab.lock.yaml."""
    return inventory.with_name(f"{inventory.stem}{_LOCK}")


def exit_code(outcome: Outcome) -> Exit:
    """Give the exit code that a check deserves."""
    if outcome.plan is None:
        return Exit.BAD_INPUT
    return Exit.FINDINGS if outcome.report.failed else Exit.OK


def show(report: Report, output_format: str, **extra: Any) -> None:  # noqa: ANN401  plain JSON data
    """Print findings: text to standard error, JSON (with `extra`) to standard output."""
    if output_format == "json":
        from sparkiac.formats.json import findings as as_json

        click.echo(json.dumps(as_json(report) | extra, indent=1))
        return
    from sparkiac.formats.text import findings as as_text
    from sparkiac.formats.text import wants_colour

    click.echo(as_text(report, colour=wants_colour(sys.stderr)), err=True, nl=False)
