"""A recipe that a command can write into an inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.catalog.library import SHIPPED
from sparkiac.commands.inputs import known

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from sparkiac.catalog.library import Library
    from sparkiac.resolve.catalogued import Catalogued

_SET: Final = {"recipe", "variant", "hosts", "model", "port"}
"""Keys that no recipe sets, because `add` and `init` fill them in."""


class OpenValue(NamedTuple):
    """A value that a recipe leaves to the inventory."""

    key: str
    """Name for --fill."""
    path: tuple[str, ...]
    """`deployment` or `builds`, and the keys below it."""
    what: str
    why: str = ""
    """Known facts about the value, from the catalog."""


def deployable(name: str, *, library: Library = SHIPPED) -> Catalogued:
    """Return a recipe that an inventory can serve; refuse any other."""
    from sparkiac.resolve import catalogued

    usable = [each.name for each in catalogued.everything(library) if each.usable]
    return catalogued.named(known("recipe", name, usable), library)


def left_open(chosen: Catalogued, builds: Container[str] = ()) -> tuple[OpenValue, ...]:
    """Return the values that a recipe leaves open; `builds` are the images that the inventory builds already."""
    from sparkiac.commands.recipes import data

    snippet = data.snippet(chosen)
    [deployment] = snippet["deployments"].values()
    keys = sorted(deployment.keys() - _SET - {"container"})
    own = [OpenValue(key, ("deployment", key), f"{key} of {chosen.name}") for key in keys]
    files = [
        OpenValue(target, ("deployment", "container", "files", target, "url"), f"source of {target}")
        for target in deployment.get("container", {}).get("files", {})
    ]
    return (*own, *files, *_of_build(snippet.get("builds", {}), builds))


def _of_build(asked: dict[str, dict[str, object]], builds: Container[str]) -> Iterator[OpenValue]:
    from sparkiac.commands.recipes import data

    for name, keys in asked.items():
        whys = (data.build(name) or {}).get("asks", {})
        for key in keys if name not in builds else ():
            yield OpenValue(key, ("builds", name, key), f"{key} of build {name}", whys.get(key, ""))
