"""`docker run` command lines, one or several in a text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sparkiac.importers import shell

if TYPE_CHECKING:
    from sparkiac.importers.launch import Launch

NAME: Final = "docker-run"
_BEGINS: Final = re.compile(
    r"\s*(?:[$#>] )?(?:sudo (?:-\w+ ){0,5})?(?:\S{0,200}/)?(?:docker|podman|nerdctl)(?: container)? (?:run|create)\b"
)


def recognise(text: str, name: str) -> bool:
    """Whether a text begins with a command line of `docker run`."""
    return not name.endswith((".md", ".sh")) and _BEGINS.match(text) is not None


def read(text: str, *, name: str) -> tuple[Launch, ...]:
    """Read the command lines of a text. Raises Unreadable where it has none."""
    return shell.read(text, name=name)
