"""Files of other tools → a draft inventory, with a report of what was corrected or lost.

Each format has a module with `recognise(text, name)` and `read(text, *, name)`, which returns launches.
Launches of all formats are converted to inventory terms in one place.
"""

from __future__ import annotations

import importlib
from typing import Final, Protocol, cast

from sparkiac.importers.launch import Launch, NothingToImport, Unreadable

__all__ = ["FORMATS", "Importer", "NothingToImport", "Unreadable", "named", "recognised"]

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
"""Format → its module, in the order in which they are tried."""


class Importer(Protocol):
    """The interface of a format's module."""

    def recognise(self, text: str, name: str) -> bool:
        """Return whether a text is of this format."""

    def read(self, text: str, *, name: str) -> tuple[Launch, ...]:
        """Read all launches of a text. Raises Unreadable."""


def named(name: str) -> Importer:
    """Return the importer of a format."""
    return cast("Importer", importlib.import_module(f"{__name__}.{FORMATS[name]}"))


def recognised(text: str, name: str) -> str | None:
    """Return the format of a text, or None if it is unknown."""
    from sparkiac.importers import markdown  # noqa: PLC0415  format modules are imported only when needed

    found = next((each for each in FORMATS if named(each).recognise(text, name)), None)
    return found or ("markdown" if markdown.has_commands(text) else None)
