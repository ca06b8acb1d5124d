"""Files of other tools, both ways: importers convert them to a draft inventory, exporters write planned deployments.

Each format has a module: `recognise(text, name)` and `read(text, *, name)`, which returns launches, and for the formats
of EXPORTED `write(nodes)`. Launches of all formats are converted to inventory terms in one place. Secrets are referred
to by name only. What is exported and imported again gives the same container, or a note names the loss.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, cast

from sparkiac.foreign.launch import Launch, NothingToImport, Unreadable
from sparkiac.foreign.node import Exported, ExportError, HostContainer, nodes
from sparkiac.report import Finding, Severity
from sparkiac.source.document import Document

__all__ = [
    "EXPORTED", "IMPORTED", "ExportError", "NothingToImport", "Unreadable", "exporter", "importer", "mistaken", "nodes",
    "recognised",
]  # fmt: skip

IMPORTED: Final = ("markdown", "shell", "inspect", "systemd", "sparkrun", "eugr", "compose", "docker-run")
"""Formats that are read, in the order in which they are tried: a page or script can contain files of the others."""
EXPORTED: Final = ("docker-run", "compose", "eugr", "sparkrun")
"""Formats that are written."""


class Importer(Protocol):
    """The functions of a module that reads a format."""

    def recognise(self, text: str, name: str) -> bool:
        """Return whether a text is of this format."""

    def read(self, text: str, *, name: str, given: Mapping[str, str] = {}) -> tuple[Launch, ...]:
        """Read all launches of a text; `given` are values of variables that it leaves open. Raises Unreadable."""


class Exporter(Protocol):
    """The function of a module that writes a format."""

    def write(self, nodes: Sequence[HostContainer]) -> Exported:
        """Write a deployment. Raises ExportError."""


def importer(name: str) -> Importer:
    """Return the importer of a format."""
    return cast("Importer", importlib.import_module(f"{__name__}.{name.replace('-', '_')}"))


def exporter(name: str) -> Exporter:
    """Return the exporter of a format."""
    return cast("Exporter", importlib.import_module(f"{__name__}.{name.replace('-', '_')}"))


def recognised(text: str, name: str) -> str | None:
    """Return the format of a text, or None if it is unknown."""
    found = next((each for each in IMPORTED if importer(each).recognise(text, name)), None)
    pages = importlib.import_module(f"{__name__}.markdown")
    return found or ("markdown" if pages.has_commands(text) else None)


def mistaken(name: str, raw: bytes, document: Document) -> Finding | None:
    """Return one finding for a lock or a file of another tool that was given as an inventory.

    It replaces one finding for each key that an inventory would have.
    """
    data = document.data
    if not isinstance(data, dict):
        return None
    if data.keys() >= {"version", "images"}:
        return _mistaken("it is a lock", document, "name its inventory, which has the same name without .lock")
    if data.keys() & {"hosts", "deployments"}:
        return None
    services = data.get("services")
    if isinstance(services, dict) and any(isinstance(each, dict) and "kind" in each for each in services.values()):
        return None
    kind = recognised(raw.decode(), name)
    hint = f"`sparkiac import {name}` converts it to a draft"
    return None if kind is None else _mistaken(f"the file is in {kind} format", document, hint)


def _mistaken(what: str, document: Document, hint: str) -> Finding:
    return Finding("INV003", "missing-key", Severity.ERROR, f"not an inventory: {what}", document.at_key(()), hint)
