"""Foreign recipes, command lines and containers → drafts of an inventory, with a report of what was lost.

One module for each format, with NAME, `recognise(text, name)` and `read(text, *, name)`. What they read, launches, is
said in the inventory's words in one place for all of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final, Protocol, cast

from sparkiac.importers.unreadable import StartsNothing, Unreadable

if TYPE_CHECKING:
    from sparkiac.importers.launch import Launch

__all__ = ["FORMATS", "Importer", "StartsNothing", "Unreadable", "named", "recognised"]

FORMATS: Final = {
    "markdown": "markdown",
    "inspect": "inspect",
    "systemd": "systemd",
    "sparkrun": "sparkrun",
    "eugr": "eugr",
    "compose": "compose",
    "shell": "shell",
    "docker-run": "docker_run",
}
"""Format → its module, in the order in which they are asked."""


class Importer(Protocol):
    """What a format's module has."""

    NAME: str

    def recognise(self, text: str, name: str) -> bool:
        """Whether a text is of this format."""

    def read(self, text: str, *, name: str) -> tuple[Launch, ...]:
        """Read all launches of a text. Raises Unreadable."""


def named(name: str) -> Importer:
    """Give the importer of a format."""
    return cast("Importer", importlib.import_module(f"{__name__}.{FORMATS[name]}"))


def recognised(text: str, name: str) -> str | None:
    """Name the format of a text, or None if it is none that is known."""
    from sparkiac.importers import markdown  # noqa: PLC0415  a format's module is read when it is asked

    found = next((each for each in FORMATS if named(each).recognise(text, name)), None)
    return found or ("markdown" if markdown.tells(text) else None)
