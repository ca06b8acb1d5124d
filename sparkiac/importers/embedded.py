"""Texts within texts: a block of a page, or what a here-document writes, read as what it looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.importers import compose, systemd

if TYPE_CHECKING:
    from sparkiac.importers.launch import Launch


def of_another_format(text: str, *, line: int, name: str) -> tuple[Launch, ...] | None:
    """Read units and Compose files that begin in this line; None where a text is neither. Raises Unreadable."""
    chosen = next((each for each in (systemd, compose) if each.recognise(text, "")), None)
    return chosen.read("\n" * (line - 1) + text, name=name) if chosen is not None else None
