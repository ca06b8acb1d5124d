"""Shared by commands: the inventory that is named, or the only one in the folder `inventories`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click
from click.core import ParameterSource

from sparkiac.commands.inputs import LOCK_SUFFIX, reject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

F = TypeVar("F", bound="Callable[..., Any]")
_FOLDER: Final = Path("inventories")
"""Where `sparkiac init` puts inventories."""
SUFFIXES: Final = (".yaml", ".yml")


def inventories() -> list[Path]:
    """Return the inventories in the folder `inventories` of the current directory."""
    found = (each for each in _FOLDER.glob("*") if each.suffix in SUFFIXES)
    return sorted(each for each in found if not each.name.endswith(LOCK_SUFFIX))


def omitted(word: str) -> bool:
    """Return whether a word where an inventory may be is a name after it instead, and `inventories` has one."""
    return not word.endswith(SUFFIXES) and not Path(word).is_file() and bool(inventories())


def only_inventory() -> Path:
    """Return the only inventory in the folder `inventories`, and print which.

    Raises click.UsageError if there is none, or more than one.
    """
    found = inventories()
    if not found:
        reject(f"name an inventory file; the directory {_FOLDER} has none")
    if len(found) > 1:
        reject(f"name one of the inventories: {', '.join(map(click.format_filename, found))}")
    click.echo(f"inventory: {click.format_filename(found[0])}", err=True)
    return found[0]


def _default() -> Path | None:
    """Return the only inventory, or None while a shell completes words."""
    return None if click.get_current_context().resilient_parsing else only_inventory()


class OmittableInventory(click.Argument):
    """The inventory. It may be omitted where `inventories` has one, also before names of hosts or deployments."""

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """Return the typed inventory or the only one; a word that is no file goes to the argument that follows."""
        word = opts.get(self.name)
        names = next((each for each in ctx.command.params if isinstance(each, click.Argument) and each != self), None)
        given = opts.get(names.name) if names else None
        taken = isinstance(given, str)
        if names is None or taken or not isinstance(word, str) or not omitted(word):
            return super().consume_value(ctx, opts)
        # click hands over the words of all arguments and reads those of the others after this one.
        moved = word if names.nargs == 1 else (word, *(given if isinstance(given, tuple) else ()))
        cast("dict[str, Any]", opts)[names.name] = moved
        return _default(), ParameterSource.COMMANDLINE


INVENTORY = click.argument("inventory", cls=OmittableInventory, type=click.Path(path_type=Path), default=_default)


def inventory_option(name: str) -> Callable[[F], F]:
    """Return an option that names the inventory."""
    text = "The inventory; default: the only one in inventories."
    kind = click.Path(path_type=Path)
    return click.option(name, "inventory", type=kind, default=_default, metavar="INVENTORY", help=text)
