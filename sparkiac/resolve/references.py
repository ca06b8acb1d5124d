"""Names of the inventory that must lead somewhere: what resolving checks before it merges layers.

Names are read from the document, not from the model: so they are checked in a faulty file as well, and all its
faults come at once. Of a value that has not the shape of a name nothing is said here; the model says it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from sparkiac import catalog
from sparkiac.hints import nearest
from sparkiac.model import forms
from sparkiac.report import Finding, Loc, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sparkiac.model.catalog import Entry, Recipe, Variant
    from sparkiac.report import Path
    from sparkiac.source.document import Document

Entries = dict[str, dict[str, Any]]
_UNKNOWN: Final = ("REF001", "unknown-name")
_TWICE: Final = ("REF002", "name-twice")
_NEEDED: Final = ("REF003", "needed")
_NO_RECIPE: Final = ("REF004", "no-recipe")


def check(document: Document) -> Iterator[Finding]:
    """Give a finding for every name of the inventory that leads nowhere or is used twice."""
    hosts, deployments = _entries(document, "hosts"), _entries(document, "deployments")
    platforms = {*_entries(document, "platforms"), *catalog.platform_names()}
    for name, host in hosts.items():
        path: Path = ("hosts", name, "platform")
        if isinstance(platform := host.get("platform"), str) and platform not in platforms:
            yield _unknown("platform", platform, platforms, document.at_value(path))
        yield from _images(document, name, host, hosts)
    yield from _same_machine(document, hosts)
    for name, deployment in deployments.items():
        yield from _recipe(document, name, deployment)
        yield from _hosts(document, ("deployments", name), deployment, known=hosts)
    for name, service in _entries(document, "services").items():
        yield from _hosts(document, ("services", name), service, known=hosts)
        if name in deployments:
            line = document.at_key(("deployments", name)).mark.line
            message = f"{name!r} is a deployment already (line {line}); both would be unit sparkiac-{name}"
            yield _error(_TWICE, message, document.at_key(("services", name)), "rename one of them")


def _entries(document: Document, kind: str) -> Entries:
    """Give the named entries under a key of the document."""
    data: Any = document.data
    entries = data.get(kind) if isinstance(data, dict) else None
    entries = entries if isinstance(entries, dict) else {}
    return {name: entry if isinstance(entry, dict) else {} for name, entry in entries.items()}


def _same_machine(document: Document, hosts: Entries) -> Iterator[Finding]:
    """Find two names for one machine: each would undo what the other one did."""
    first: dict[tuple[str, str], str] = {}
    for name, host in hosts.items():
        address = host.get("address")
        other = first.setdefault((address, repr(host.get("ssh"))), name) if isinstance(address, str) else name
        if other != name:
            place = document.at_value(("hosts", name, "address"))
            message = f"{name} and {other} are one machine: both are reached at {address}"
            yield _error(_TWICE, message, place, "give each host its own address, or remove one of them")


def _images(document: Document, name: str, host: dict[str, Any], hosts: Entries) -> Iterator[Finding]:
    """Find a host that gets its images from nobody, from itself, or from one that has none before it asks."""
    giver, place = host.get("images_from"), document.at_value(("hosts", name, "images_from"))
    if not isinstance(giver, str):
        return
    if giver not in hosts or giver == name:
        hint = (
            nearest(giver, hosts.keys() - {name}) or "there is no other host: remove it, and this one pulls its images"
        )
        yield _error(_UNKNOWN, f"no other host is called {giver!r}", place, hint)
    elif hosts[giver].get("images_from") is not None:
        message = f"{name} gets its images from {giver}, which gets its own from another host"
        yield _error(_NEEDED, message, place, f"name a host that pulls them: {hosts[giver]['images_from']}")


def _recipe(document: Document, name: str, deployment: dict[str, Any]) -> Iterator[Finding]:
    base: Path = ("deployments", name)
    recipe, variant = _name(forms.RECIPE, deployment.get("recipe")), _name(forms.NAME, deployment.get("variant"))
    if recipe is None:
        yield from _inline(document, base, deployment)
        return
    if "engine" in deployment:
        message = f"{name} names a recipe, which says the engine"
        yield _error(_TWICE, message, document.at_key((*base, "engine")), "remove `engine`, or `recipe`")
    known = catalog.recipe(recipe)
    if known is None or known.value is None:
        place = document.at_value((*base, "recipe"))
        yield _unknown("recipe", recipe, catalog.recipe_names(), place)
        return
    yield from _usable(known.value, recipe, document.at_value((*base, "recipe")))
    chosen = None if variant is None else catalog.variant(recipe, variant)
    if variant is not None and (chosen is None or chosen.value is None):
        yield _unknown("variant", variant, catalog.variant_names(recipe), document.at_value((*base, "variant")))
    elif chosen is not None and chosen.value is not None:
        yield from _usable(chosen.value, f"{recipe}#{variant}", document.at_value((*base, "variant")))
    yield from _fragments(document, base, deployment.get("fragments"), engine=known.value.engine)
    yield from _nodes(document, base, deployment.get("on"), (known.value, chosen.value if chosen else None))
    if known.value.model is None and deployment.get("model") is None and known.value.status == "recipe":
        message = f"recipe {recipe} serves any model, and {name} names none"
        yield _error(_NEEDED, message, document.at_key(base), "add `model: organisation/name`, as on the model hub")


def _inline(document: Document, base: Path, deployment: dict[str, Any]) -> Iterator[Finding]:
    """Find what a deployment without a recipe lacks."""
    if "recipe" in deployment:
        return
    if "engine" not in deployment:
        hint = "add `recipe:`, as `sparkiac recipes list` names them, or `engine:`, `image:` and `model:`"
        yield _error(_NEEDED, f"{base[-1]} names no recipe and no engine", document.at_key(base), hint)
    if "variant" in deployment:
        message = f"{base[-1]} names a variant and no recipe that it would be one of"
        yield _error(_NEEDED, message, document.at_key((*base, "variant")), "add `recipe:`, or remove `variant`")
    if isinstance(engine := deployment.get("engine"), str):
        yield from _fragments(document, base, deployment.get("fragments"), engine=engine)


def _usable(entry: Entry, name: str, place: Loc) -> Iterator[Finding]:
    """Refuse what a source only mentions, or took out of service: there is no command to render."""
    if entry.status in {"mention", "retired"}:
        state = "only mentioned by its source" if entry.status == "mention" else "out of service"
        hint = f"the nearest recipe is {entry.instead}" if entry.instead else "write a recipe of your own from base/"
        yield Finding(*_NO_RECIPE, Severity.ERROR, f"{name} is {state}: {entry.why}", place, hint, entry.sources[0])


def _fragments(document: Document, base: Path, chosen: object, *, engine: str) -> Iterator[Finding]:
    for index, name in enumerate(chosen if isinstance(chosen, tuple) else ()):
        place = document.at_value((*base, "fragments", index))
        found = catalog.fragment(name) if isinstance(name, str) and re.fullmatch(forms.NAME, name) else None
        if isinstance(name, str) and found is None:
            yield _unknown("fragment", name, catalog.fragment_names(), place)
        elif found is not None and found.value is not None and found.value.engine not in {None, engine}:
            message = f"fragment {name} is for {found.value.engine}, and {base[-1]} runs {engine}"
            yield _error(_NEEDED, message, place, "remove it")


def _nodes(document: Document, base: Path, on: object, entries: tuple[Recipe, Variant | None]) -> Iterator[Finding]:
    """Find a deployment on fewer hosts than its recipe was made for."""
    recipe, variant = entries
    needed = (variant.nodes if variant else None) or recipe.nodes
    given = len(on) if isinstance(on, tuple) else 1
    if given < needed:
        message = f"{base[-1]} needs {needed} hosts, and `on` names {given}"
        yield _error(_NEEDED, message, document.at_value((*base, "on")), "name them all: on: [spark-01, spark-02]")


def _name(form: str, value: object) -> str | None:
    return value if isinstance(value, str) and re.fullmatch(form, value) else None


def _hosts(document: Document, base: Path, entry: dict[str, Any], *, known: Entries) -> Iterator[Finding]:
    """Check the hosts that a deployment or service is on, and those that it says something special of."""
    seen = set[str]()
    chosen = dict(_chosen(entry.get("on"), (*base, "on")))
    for path, host in chosen.items():
        if host not in known:
            yield _unknown("host", host, known, document.at_value(path))
        elif host in seen:
            yield _error(_TWICE, f"{host} is named twice", document.at_value(path), "a group needs different hosts")
        elif len(chosen) > 1 and known[host].get("fabric") is None:
            message = f"{host} has no fabric link, and {base[-1]} spans {len(chosen)} hosts"
            yield _error(_NEEDED, message, document.at_value(path), f"add hosts.{host}.fabric.links")
        seen.add(host)
    special = entry.get("per_host")
    for host in special if isinstance(special, dict) and chosen else ():
        if host not in chosen.values():
            place = document.at_key((*base, "per_host", host))
            yield _unknown("host of this deployment", host, chosen.values(), place)


def _chosen(on: object, path: Path) -> Iterator[tuple[Path, str]]:
    """Give path and name of each host of `on`, which is one name or a list of names."""
    if isinstance(on, str):
        yield path, on
    elif isinstance(on, tuple):
        yield from (((*path, index), host) for index, host in enumerate(on) if isinstance(host, str))


def _unknown(what: str, name: str, known: Iterable[Any], loc: Loc) -> Finding:
    return _error(_UNKNOWN, f"no {what} is called {name!r}", loc, nearest(name, known))


def _error(code: tuple[str, str], message: str, loc: Loc, hint: str) -> Finding:
    return Finding(*code, Severity.ERROR, message, loc, hint)
