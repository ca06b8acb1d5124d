"""A file of another tool that was given as an inventory."""

from __future__ import annotations

from sparkiac import importers
from sparkiac.report import Finding, Severity
from sparkiac.source.document import Document


def finding(name: str, raw: bytes, document: Document) -> Finding | None:
    """Return one finding for such a file, instead of one for each key that an inventory would have."""
    data = document.data
    if not isinstance(data, dict) or data.keys() & {"hosts", "deployments"}:
        return None
    services = data.get("services")
    if isinstance(services, dict) and any(isinstance(each, dict) and "kind" in each for each in services.values()):
        return None
    kind = importers.recognised(raw.decode(), name)
    if kind is None:
        return None
    hint = f"`sparkiac import {name}` converts it to a draft"
    message = f"not an inventory: the file is in {kind} format"
    return Finding("INV003", "missing-key", Severity.ERROR, message, document.at_key(()), hint)
