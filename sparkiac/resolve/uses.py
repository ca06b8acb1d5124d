"""What services use of each other: that it exists, that it can be asked, and that no name is there twice.

Read from the document, like all names, so that a faulty file shows these faults as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac import catalog
from sparkiac.hints import nearest
from sparkiac.model import forms
from sparkiac.report import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.report import Path
    from sparkiac.source.document import Document

AGENT: Final = "hermes-agent"
_UNKNOWN: Final = ("REF001", "unknown-name")
_TWICE: Final = ("REF002", "name-twice")
_NO_API: Final = ("REF005", "no-api")


class Use(NamedTuple):
    """One name that a service uses, where it stands, and the model that it wants of it."""

    path: Path
    name: str
    model: str | None


def check(document: Document) -> Iterator[Finding]:
    """Give a finding for everything that a service uses and cannot."""
    data: Any = document.data
    services, deployments = (_names(data, key) for key in ("services", "deployments"))
    offers = {name: _offers(service) for name, service in services.items()} | dict.fromkeys(deployments, "openai")
    for name, service in services.items():
        seen = set[str]()
        for use in of(("services", name), service):
            fault = _fault(name, service, use.name, offers)
            if fault is None and use.name in seen and service.get("kind") != "openclaw":
                fault = _TWICE, f"{use.name} is named twice", "remove one of them"
            seen.add(use.name)
            if fault is not None:
                code, message, hint = fault
                yield Finding(*code, Severity.ERROR, message, document.at_value(use.path), hint)


def of(base: Path, service: dict[str, Any]) -> Iterator[Use]:
    """Give everything that a service uses, in the order in which it says so."""
    uses, aliases = service.get("uses"), service.get("aliases")
    if isinstance(uses, str):
        yield Use((*base, "uses"), uses, service.get("model"))
    for index, name in enumerate(uses if isinstance(uses, tuple) else ()):
        if isinstance(name, str):
            yield Use((*base, "uses", index), name, None)
    for alias, entry in aliases.items() if isinstance(aliases, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get("to"), str):
            yield Use((*base, "aliases", alias, "to"), entry["to"], entry.get("model"))


def _fault(
    name: str, service: dict[str, Any], used: str, offers: dict[str, str | None]
) -> tuple[tuple[str, str], str, str] | None:
    known = sorted(other for other, offer in offers.items() if offer and other != name)
    if re.fullmatch(forms.NAME, used) is None:
        return None
    if used not in offers:
        return _UNKNOWN, f"no deployment or service is called {used!r}", nearest(used, known) or "remove it"
    if used == name:
        return _NO_API, f"{name} uses itself", nearest(used, known) or "remove it"
    if offers[used] is None:
        return _NO_API, f"{used} offers no API that {name} could use", nearest(used, known) or "remove it"
    if service.get("kind") == offers[used] == AGENT:
        message = f"{name} thinks with {used}, which is an agent itself"
        return _NO_API, message, "name a deployment, or an Ollama server"
    return None


def _offers(service: dict[str, Any]) -> str | None:
    """Say what others can ask a service: an API, an agent, or nothing."""
    kind = service.get("kind")
    found = catalog.service_kind(kind) if isinstance(kind, str) and re.fullmatch(forms.NAME, kind) else None
    if found is None or found.value is None:
        return None
    return AGENT if kind == AGENT else found.value.api


def _names(data: Any, key: str) -> dict[str, dict[str, Any]]:  # noqa: ANN401  a document's data
    entries = data.get(key) if isinstance(data, dict) else None
    found = entries if isinstance(entries, dict) else {}
    return {name: entry if isinstance(entry, dict) else {} for name, entry in found.items()}
