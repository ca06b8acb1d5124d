"""A recipe that a command can write into an inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from sparkiac.catalog.library import SHIPPED
from sparkiac.commands.inputs import known

if TYPE_CHECKING:
    from collections.abc import Container

    from sparkiac.catalog.library import Library
    from sparkiac.resolve.catalogued import Catalogued

_SET: Final = {"recipe", "variant", "hosts", "model", "port", "deployments"}
"""Keys that no recipe sets, because `add` and `init` fill them in."""


def deployable(name: str, command: str, builds: Container[str] = (), *, library: Library = SHIPPED) -> Catalogued:
    """Return a recipe whose missing values `add` or `init` can fill in; refuse any other.

    `builds` are the images that the inventory builds already.
    """
    from sparkiac.resolve import catalogued

    usable = [each.name for each in catalogued.everything(library) if each.usable]
    chosen = catalogued.named(known("recipe", name, usable), library)
    if left := left_open(chosen, builds):
        another = "start with another recipe, and " if command == "init" else ""
        message = (
            f"{name} requires {', '.join(left)} in the inventory, which {command} does not set: {another}"
            f"add the lines of `sparkiac recipes show {name}` to the inventory"
        )
        raise click.UsageError(message)
    return chosen


def left_open(chosen: Catalogued, builds: Container[str] = ()) -> list[str]:
    """Return the keys that a recipe leaves open and that the commands do not set."""
    from sparkiac.commands.recipes import data

    snippet = data.snippet(chosen)
    set_already = {"builds"} if chosen.values.get("image") in builds else set()
    return sorted({key for part in (snippet, *snippet["deployments"].values()) for key in part} - _SET - set_already)
