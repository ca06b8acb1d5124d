"""One or more `docker run` command lines."""

from __future__ import annotations

import re
from typing import Final

from sparkiac.importers import shell
from sparkiac.importers.launch import Launch

_BEGINS: Final = re.compile(
    r"\s*(?:[$#>] )?(?:sudo (?:-\w+ ){0,5})?(?:\S{0,200}/)?(?:docker|podman|nerdctl)(?: container)? (?:run|create)\b"
)


def recognise(text: str, name: str) -> bool:
    """Return whether a text begins with a `docker run` command line."""
    return not name.endswith((".md", ".sh")) and _BEGINS.match(text) is not None


def read(text: str, *, name: str) -> tuple[Launch, ...]:
    """Read the command lines of a text. Raises Unreadable if it has none."""
    return shell.read(text, name=name)
