"""Shell scripts: `docker run` command lines among other commands, and servers that are started without a container."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sparkiac.importers import embedded, shell_commands
from sparkiac.importers.shell_commands import RUNS, SERVERS
from sparkiac.importers.shell_words import Script, script
from sparkiac.importers.unreadable import StartsNothing, Unreadable

if TYPE_CHECKING:
    from sparkiac.importers.launch import Launch
    from sparkiac.importers.shell_parts import Document

NAME: Final = "shell"
_SHEBANG: Final = re.compile(r"#![^\n]*\b(?:ba|da|z)?sh\b")
_BEGINS: Final = re.compile(rf"\s*(?:[$#>] )?(?:[A-Za-z_]\w{{0,99}}=\S{{0,999}} )*(?:\S{{0,200}}/)?(?:{SERVERS})")


def recognise(text: str, name: str) -> bool:
    """Whether a text is a script that starts a server."""
    named = _SHEBANG.match(text) is not None or name.endswith((".sh", ".bash", ".zsh"))
    return (named and RUNS.search(text) is not None) or _BEGINS.match(text) is not None


def read(text: str, *, name: str) -> tuple[Launch, ...]:
    """Read a script. Raises Unreadable where it starts nothing, or is no shell text."""
    commands = script(text, indent=0)
    found = shell_commands.joined(launches(commands, name=name))
    if not found:
        message = "no `docker run` and no server is started here"
        line = next((document.opened for document in commands.documents), 1)
        hint = "; if what this here-document writes starts one, save that as a file" if commands.documents else ""
        raise StartsNothing(message + hint, line=line)
    return found


def launches(commands: Script, *, name: str, level: int = 0) -> tuple[Launch, ...]:
    """Give what commands start, and what the files start that they write."""

    def written(document: Document, deep: int) -> tuple[Launch, ...]:
        return _written(document, name=name, level=deep)

    return shell_commands.launches(commands, written=written, level=level)


def _written(document: Document, *, name: str, level: int) -> tuple[Launch, ...]:
    """Give what a here-document starts, whatever its format is; nothing where it cannot be read."""
    try:
        found = embedded.of_another_format(document.text, line=document.line, name=name)
        return launches(script(document.text, line=document.line), name=name, level=level) if found is None else found
    except Unreadable:
        return ()
