"""Findings about names and values of an inventory, and the data in which they look for names.

Names are read from the document, not from the model, so that an invalid file gets these findings as well. A value
that does not have the form of a name is skipped here; the model reports it.
"""

from __future__ import annotations

from typing import Any, Final

from sparkiac.report import Finding, Loc, Severity
from sparkiac.source.document import Document

VALUE: Final = ("INV002", "value")
UNKNOWN: Final = ("REF001", "unknown-name")
TWICE: Final = ("REF002", "name-twice")
NEEDED: Final = ("REF003", "needed")
Fault = tuple[tuple[str, str], str, str]
"""Code with slug, message and hint of a finding."""


def error(code: tuple[str, str], message: str, loc: Loc, hint: str) -> Finding:
    """Return a finding."""
    return Finding(*code, Severity.ERROR, message, loc, hint)


def mapping(data: object, key: str) -> dict[str, Any]:
    """Return the mapping under a key; empty if there is none."""
    found = data.get(key) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}


def entries(document: Document, kind: str) -> dict[str, dict[str, Any]]:
    """Return the named entries under a key of the document, without those that are not mappings."""
    found = mapping(document.data, kind)
    return {name: entry if isinstance(entry, dict) else {} for name, entry in found.items()}
