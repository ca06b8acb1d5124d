"""Texts within texts: a block of a page, or what a here-document writes, read as what it looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.importers import compose, shell, systemd
from sparkiac.importers.shell_words import script
from sparkiac.importers.unreadable import Unreadable

if TYPE_CHECKING:
    from sparkiac.importers.launch import Launch
    from sparkiac.importers.shell_parts import Document


def of_another_format(text: str, *, line: int, name: str) -> tuple[Launch, ...] | None:
    """Read units and Compose files that begin in this line; None where a text is neither. Raises Unreadable."""
    chosen = next((each for each in (systemd, compose) if each.recognise(text, "")), None)
    return chosen.read("\n" * (line - 1) + text, name=name) if chosen is not None else None


def launches(document: Document, *, name: str, level: int) -> tuple[Launch, ...]:
    """Give what a here-document starts, whatever its format is; nothing where it cannot be read."""
    try:
        found = of_another_format(document.text, line=document.line, name=name)
        commands = script(document.text, line=document.line) if found is None else None
        return shell.launches(commands, name=name, level=level) if commands is not None else found or ()
    except Unreadable:
        return ()
