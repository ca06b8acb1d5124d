"""Check what services use, what turns run, and the fragments of deployments: it exists, fits, and is named once.

Names are read from the document, so that an invalid file gets these findings as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sparkiac import catalog
from sparkiac.catalog.library import Library
from sparkiac.model import forms
from sparkiac.model.catalog import Fragment
from sparkiac.report import Finding, Path
from sparkiac.report.hints import nearest
from sparkiac.resolve.references import NEEDED, TWICE, UNKNOWN, Fault, entries, error, mapping
from sparkiac.source.document import Document

AGENT: Final = "hermes-agent"
GATEWAY: Final = "gateway"
_OLLAMA: Final = "ollama"
_NO_API: Final = ("REF005", "no-api")


class Use(NamedTuple):
    """One name that a service uses, its path in the inventory, and the model that the service uses there."""

    path: Path
    name: str
    model: str | None


def check(document: Document) -> Iterator[Finding]:
    """Return a finding for every name that a service lists under `uses` and cannot use."""
    services, deployments = entries(document, "services"), entries(document, "deployments")
    served = dict.fromkeys((*mapping(document.data, "routes"), *deployments), "openai")
    offers = {name: _offers(service) for name, service in services.items()} | served
    for name, service in services.items():
        seen = set[str]()
        for use in of(("services", name), service):
            fault = _fault(name, service, use.name, offers)
            if fault is None and use.name in seen and service.get("kind") != "openclaw":
                fault = TWICE, f"{use.name} is listed twice", "remove one of them"
            seen.add(use.name)
            if fault is not None:
                code, message, hint = fault
                yield error(code, message, document.at_value(use.path), hint)


def of(base: Path, service: dict[str, Any]) -> Iterator[Use]:
    """Return everything that a service uses, in the order of the inventory."""
    uses, aliases = service.get("uses"), service.get("aliases")
    if isinstance(uses, str):
        yield Use((*base, "uses"), uses, service.get("model"))
    for index, name in enumerate(uses if isinstance(uses, tuple) else ()):
        if isinstance(name, str):
            yield Use((*base, "uses", index), name, None)
    for alias, entry in aliases.items() if isinstance(aliases, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get("to"), str):
            yield Use((*base, "aliases", alias, "to"), entry["to"], entry.get("model"))


def of_routes(routes: dict[str, Any]) -> Iterator[Use]:
    """Return every server of the routes, in the order of the inventory."""
    for alias, route in routes.items():
        for key in ("to", "fallback"):
            listed = route.get(key) if isinstance(route, dict) else None
            for index, name in enumerate(listed if isinstance(listed, tuple) else ()):
                if isinstance(name, str):
                    yield Use(("routes", alias, key, index), name, alias)


def check_routes(document: Document) -> Iterator[Finding]:
    """Return a finding for every name in a route that is unknown, listed twice, or serves no models of its own."""
    routes, services = mapping(document.data, "routes"), entries(document, "services")
    units = {*services, *mapping(document.data, "deployments")}
    known = units - {name for name, service in services.items() if service.get("kind") != _OLLAMA}
    gateways = [name for name, service in services.items() if service.get("kind") == GATEWAY]
    if routes and not gateways:
        hint = "add a service: `gateway: {kind: gateway, hosts: spark-01}`"
        yield error(NEEDED, "no gateway serves the routes", document.at_key(("routes",)), hint)
    for name in () if routes else gateways:
        hint = "add `routes: {fast: {to: [NAME]}}`, with the name of a deployment"
        yield error(NEEDED, f"gateway {name} has no routes", document.at_key(("services", name)), hint)
    for alias in routes.keys() & units:
        message = f"{alias} is also a deployment or service, so that `uses: {alias}` has two meanings"
        yield error(TWICE, message, document.at_key(("routes", alias)), "rename one of them")
    seen = set[tuple[object, str]]()
    for use in of_routes(routes):
        fault = _fault_of_route(use, known, units, again=(use.model, use.name) in seen)
        seen.add((use.model, use.name))
        if fault is not None:
            code, message, hint = fault
            yield error(code, message, document.at_value(use.path), hint)
    yield from _weights(document, routes)


def _fault_of_route(use: Use, known: set[str], units: set[str], *, again: bool) -> Fault | None:
    if use.name not in units:
        hint = nearest(use.name, known) or "list deployments and Ollama servers of this inventory"
        return UNKNOWN, f"unknown deployment or service {use.name!r}", hint
    if use.name not in known:
        return _NO_API, f"{use.name} serves no model of its own", nearest(use.name, known) or "remove it"
    return (TWICE, f"route {use.model} lists {use.name} twice", "remove one of them") if again else None


def _weights(document: Document, routes: dict[str, Any]) -> Iterator[Finding]:
    """Find weights of servers that share no requests of a route."""
    for alias, route in routes.items():
        for name in mapping(route, "weights"):
            if name not in (route.get("to") or ()):
                place = document.at_key(("routes", alias, "weights", name))
                yield error(UNKNOWN, f"route {alias} has no {name} under `to`", place, "remove the weight")


def _fault(name: str, service: dict[str, Any], used: str, offers: dict[str, str | None]) -> Fault | None:
    known = sorted(other for other, offer in offers.items() if offer and other != name)
    if re.fullmatch(forms.NAME, used) is None:
        return None
    if used not in offers:
        return UNKNOWN, f"unknown deployment or service {used!r}", nearest(used, known) or "remove it"
    if used == name:
        return _NO_API, f"{name} uses itself", nearest(used, known) or "remove it"
    if offers[used] is None:
        return _NO_API, f"{used} has no API that {name} can use", nearest(used, known) or "remove it"
    if service.get("kind") == offers[used] == AGENT:
        message = f"agent {name} uses {used}, which is an agent itself"
        return _NO_API, message, "use a deployment or an Ollama server"
    return None


def _offers(service: dict[str, Any]) -> str | None:
    """Return whether a service offers others an API or an agent; None if neither."""
    kind = service.get("kind")
    found = catalog.service_kind(kind) if isinstance(kind, str) and re.fullmatch(forms.NAME, kind) else None
    if found is None or found.value is None:
        return None
    return AGENT if kind == AGENT else found.value.api


def check_turns(document: Document) -> Iterator[Finding]:
    """Return a finding for every name in a turn that is unknown, listed twice, or in every turn."""
    turns = mapping(document.data, "turns")
    known = {*mapping(document.data, "deployments"), *mapping(document.data, "services")}
    members = {name: dict(_members(turn, ("turns", name))) for name, turn in turns.items()}
    for name, listed in members.items():
        seen = set[str]()
        for path, member in listed.items():
            fault = _fault_of_turn(name, member, known=known, again=member in seen)
            if fault is None and member not in seen and all(member in each.values() for each in members.values()):
                hint = f"remove it from `turns`, or add a turn without {member}"
                fault = TWICE, f"{member} is in every turn, so that it always runs", hint
            seen.add(member)
            if fault is not None:
                code, message, hint = fault
                yield error(code, message, document.at_value(path), hint)
    yield from _times(document, turns)


def _fault_of_turn(name: str, member: str, *, known: set[str], again: bool) -> Fault | None:
    if member not in known:
        hint = nearest(member, known) or "list deployments and services of this inventory"
        return UNKNOWN, f"unknown deployment or service {member!r}", hint
    return (TWICE, f"turn {name} lists {member} twice", "remove one of them") if again else None


def _members(turn: object, path: Path) -> Iterator[tuple[Path, str]]:
    """Return path and name of each member of a turn, in the short and the long form."""
    listed, path = (turn.get("run"), (*path, "run")) if isinstance(turn, dict) else (turn, path)
    for index, name in enumerate(listed if isinstance(listed, tuple) else ()):
        if isinstance(name, str):
            yield (*path, index), name


def _times(document: Document, turns: dict[str, Any]) -> Iterator[Finding]:
    """Find two turns that begin at the same time of the day."""
    first: dict[str, str] = {}
    for name, turn in turns.items():
        at = turn.get("at") if isinstance(turn, dict) else None
        other = first.setdefault(at, name) if isinstance(at, str) else name
        if other != name:
            message = f"turns {other} and {name} both begin at {at}"
            hint = "give each turn a different time"
            yield error(TWICE, message, document.at_value(("turns", name, "at")), hint)


def check_fragments(document: Document, library: Library) -> Iterator[Finding]:
    """Return a finding for every fragment that a deployment lists and cannot use."""
    for name, deployment in entries(document, "deployments").items():
        given = deployment.get("fragments")
        listed = given if isinstance(given, tuple) else ()
        for index, fragment in enumerate(listed):
            path: Path = ("deployments", name, "fragments", index)
            for code, message, hint in _of_fragment(fragment, name, deployment, listed[:index], library):
                yield error(code, message, document.at_value(path), hint)


def _of_fragment(
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
