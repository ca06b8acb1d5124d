"""Shell scripts: `docker run` command lines among other commands, and servers that are started without a container."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from sparkiac.foreign import compose, shell_commands, systemd
from sparkiac.foreign.launch import Launch, NothingToImport, Unreadable
from sparkiac.foreign.serving import SERVERS
from sparkiac.foreign.shell_parts import HereDocument
from sparkiac.foreign.shell_words import Script, script

_SHEBANG: Final = re.compile(r"#![^\n]*\b(?:ba|da|z)?sh\b")
_RUNS: Final = re.compile(rf"\b(?:docker|podman|nerdctl)\b|\b(?:{SERVERS})")
_BEGINS: Final = re.compile(rf"\s*(?:[$#>] )?(?:[A-Za-z_]\w{{0,99}}=\S{{0,999}} )*(?:\S{{0,200}}/)?(?:{SERVERS})")


def recognise(text: str, name: str) -> bool:
    """Return whether a text is a script that starts a server."""
    named = _SHEBANG.match(text) is not None or name.endswith((".sh", ".bash", ".zsh"))
    return (named and _RUNS.search(text) is not None) or _BEGINS.match(text) is not None


def read(text: str, *, name: str, given: Mapping[str, str] = {}) -> tuple[Launch, ...]:
    """Read a script. Raises Unreadable if it starts nothing or is not a shell script."""
    commands = script(text, variables=given, indent=0, whole=True)
    found = shell_commands.joined(launches(commands, name=name))
    if not found:
        message = "the script starts no container with `docker run`, and no server"
        line = next((document.opened for document in commands.documents), 1)
        hint = (
            "; if this here-document writes a script that starts one, save it as a file and import that"
            if commands.documents
            else ""
        )
        raise NothingToImport(message + hint, line=line)
    return found


def read_other_format(text: str, *, line: int, name: str, given: Mapping[str, str] = {}) -> tuple[Launch, ...] | None:
    """Read systemd units and Compose files that begin on this line; None if a text is neither. Raises Unreadable."""
    chosen = next((each for each in (systemd, compose) if each.recognise(text, "")), None)
    return chosen.read("\n" * (line - 1) + text, name=name, given=given) if chosen is not None else None


def launches(commands: Script, *, name: str, level: int = 0) -> tuple[Launch, ...]:
    """Return the launches of the commands, and those of the here-documents that they write."""
    return shell_commands.launches(commands, written=partial(_written, name), level=level)


def _written(name: str, document: HereDocument, level: int) -> tuple[Launch, ...]:
    """Return the launches in a here-document of any format; none if it cannot be read."""
    try:
        found = read_other_format(document.text, line=document.line, name=name)
        return launches(script(document.text, line=document.line), name=name, level=level) if found is None else found
    except Unreadable:
        return ()
