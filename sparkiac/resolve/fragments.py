"""Check the fragments of deployments: that each exists, fits the deployment, and has the fragments that it needs.

Names are read from the document, so that an invalid file gets these findings as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sparkiac import catalog
from sparkiac.catalog.library import Library
from sparkiac.model import forms
from sparkiac.model.catalog import Fragment
from sparkiac.report import Finding, Path
from sparkiac.report.hints import nearest
from sparkiac.resolve.references import NEEDED, UNKNOWN, Fault, entries, error
from sparkiac.source.document import Document


def check(document: Document, library: Library) -> Iterator[Finding]:
    """Return a finding for every fragment that a deployment lists and cannot use."""
    for name, deployment in entries(document, "deployments").items():
        given = deployment.get("fragments")
        listed = given if isinstance(given, tuple) else ()
        for index, fragment in enumerate(listed):
            path: Path = ("deployments", name, "fragments", index)
            for code, message, hint in _faults(fragment, name, deployment, listed[:index], library):
                yield error(code, message, document.at_value(path), hint)


def _faults(
    name: object, deployment: str, values: dict[str, Any], before: tuple[object, ...], library: Library
) -> Iterator[Fault]:
    """Return code, message and hint of everything that is wrong with one fragment."""
    if not isinstance(name, str):
        return
    found = catalog.fragment(name) if re.fullmatch(forms.NAME, name) else None
    if found is None:
        fitting = [each for each in catalog.fragment_names() if _is_usable(each, deployment, values, library)]
        yield UNKNOWN, f"unknown fragment {name!r}", nearest(name, fitting)
    elif found.value is not None:
        yield from ((NEEDED, *fault) for fault in _misused(name, found.value, deployment, values, library))
        yield from ((NEEDED, *fault) for fault in _unmet(name, found.value, deployment, before))


def _is_usable(name: str, deployment: str, values: dict[str, Any], library: Library) -> bool:
    """Return whether a deployment can list a fragment of the catalog."""
    found = catalog.fragment(name)
    if found is None or found.value is None or found.value.status != "recipe":
        return False
    return not [*_misused(name, found.value, deployment, values, library)]


def _misused(
    name: str, fragment: Fragment, deployment: str, values: dict[str, Any], library: Library
) -> Iterator[tuple[str, str]]:
    """Return a fault if a deployment runs another engine, or on another number of hosts, than a fragment is for."""
    engine, listed = _engine(values, library), values.get("hosts")
    if fragment.engine is not None and engine not in {None, fragment.engine}:
        yield f"fragment {name} is for {fragment.engine}, but deployment {deployment} runs {engine}", "remove it"
    hosts = len(listed) if isinstance(listed, tuple) else 1
    if fragment.nodes is not None and listed is not None and hosts != fragment.nodes:
        message = f"fragment {name} is for {fragment.nodes} hosts, but deployment {deployment} runs on {hosts}"
        yield message, f"remove it, or list {fragment.nodes} names under `hosts`"


def _unmet(name: str, fragment: Fragment, deployment: str, before: tuple[object, ...]) -> Iterator[tuple[str, str]]:
    """Return a fault for each fragment that must be listed before this one and is not."""
    for needed in fragment.needs:
        if needed not in before:
            message = f"fragment {name} needs fragment {needed}, which deployment {deployment} does not list before it"
            yield message, f"add {needed} before it: fragments: [{', '.join([*fragment.needs, name])}]"


def _engine(values: dict[str, Any], library: Library) -> str | None:
    """Return the engine of a deployment; None if its recipe is unknown, which is reported elsewhere."""
    recipe = values.get("recipe")
    if isinstance(recipe, str):
        found = library.recipe(recipe) if re.fullmatch(forms.RECIPE, recipe) else None
        return found.value.engine if found is not None and found.value is not None else None
    engine = values.get("engine")
    return engine if isinstance(engine, str) else None
