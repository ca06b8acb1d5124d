"""Check that every name in the inventory refers to something that exists, before layers are merged.

Names are read from the document, not from the model, so that an invalid file gets these findings as well. A value
that does not have the form of a name is skipped here; the model reports it. Other checks of the stage share the codes
and the functions for findings and entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sparkiac import catalog, engines
from sparkiac.catalog import library
from sparkiac.catalog.library import Library, RecipeText
from sparkiac.model import forms
from sparkiac.model.catalog import CatalogEntry, Recipe, Variant
from sparkiac.model.inventory import Deployment, Inventory
from sparkiac.report import Finding, Loc, Path, Severity
from sparkiac.report.hints import nearest, slip_of
from sparkiac.source import Source
from sparkiac.source.document import Document

Entries = dict[str, dict[str, Any]]
_OTHER_KEYS: Final = Deployment.model_fields.keys() - {"recipe"}
_NO_RECIPE: Final = ("REF004", "no-recipe")
VALUE: Final = ("INV002", "value")
UNKNOWN: Final = ("REF001", "unknown-name")
TWICE: Final = ("REF002", "name-twice")
NEEDED: Final = ("REF003", "needed")
Fault = tuple[tuple[str, str], str, str]
"""Code with slug, message and hint of a finding."""


def check(document: Document, library: Library) -> Iterator[Finding]:
    """Return a finding for every name in the inventory that is unknown or used twice."""
    hosts, deployments = entries(document, "hosts"), entries(document, "deployments")
    platforms = {*entries(document, "platforms"), *catalog.platform_names()}
    for name, host in hosts.items():
        path: Path = ("hosts", name, "platform")
        if isinstance(platform := host.get("platform"), str) and platform not in platforms:
            yield _unknown("platform", platform, platforms, document.at_value(path))
        yield from _images(document, name, host, hosts)
    yield from _engines(library)
    yield from _same_machine(document, hosts)
    yield from _retired(document, hosts)
    for name, deployment in deployments.items():
        yield from _recipe(document, name, deployment, library)
        yield from _hosts(document, ("deployments", name), deployment, known=hosts)
    yield from _known(document, mapping(document.data, "rollout").get("canary"), ("rollout", "canary"), hosts)
    for model, own in entries(document, "own_models").items():
        yield from _known(document, own.get("host"), ("own_models", model, "host"), hosts)
    for name, part in entries(document, "monitoring").items():
        yield from _hosts(document, ("monitoring", name), part, known=hosts)
    for name, service in entries(document, "services").items():
        yield from _hosts(document, ("services", name), service, known=hosts)
        if name in deployments:
            line = document.at_key(("deployments", name)).mark.line
            message = f"{name!r} is also a deployment (line {line}); both would get the unit sparkiac-{name}"
            yield error(TWICE, message, document.at_key(("services", name)), "rename one of them")


def read_recipes(files: Iterable[RecipeText]) -> tuple[Library, tuple[Finding, ...]]:
    """Return the library with the recipes of the user's files, and the findings about the files."""
    found, findings = library.read(files)
    return found, (*findings, *_engines(found))


def readable(
    files: Iterable[RecipeText], beside: Iterable[RecipeText] = ()
) -> tuple[tuple[RecipeText, ...], tuple[Finding, ...]]:
    """Return the files that are recipes, and the findings about the others; those `beside` are read with them."""
    left, known, refused = tuple(files), tuple(beside), tuple[Finding, ...]()
    while True:  # a variant goes with its recipe
        _, findings = read_recipes((*known, *left))
        paths = {each.loc.file for each in findings if each.loc}
        fit = tuple(file for file in left if file.path not in paths)
        if len(fit) == len(left):
            return fit, refused
        refused += tuple(each for each in findings if each.loc and each.loc.file in {file.path for file in left})
        left = fit


def _engines(found: Library) -> Iterator[Finding]:
    for recipe in found.recipes.values():
        if recipe.value is not None:
            yield from _engine(recipe.value.engine, recipe.document.at_value(("engine",)))


def _same_machine(document: Document, hosts: Entries) -> Iterator[Finding]:
    """Find hosts with the same address: each would overwrite the files of the other."""
    first: dict[tuple[str, str], str] = {}
    for name, host in hosts.items():
        address = host.get("address")
        other = first.setdefault((address, repr(host.get("ssh"))), name) if isinstance(address, str) else name
        if other != name:
            place = document.at_value(("hosts", name, "address"))
            message = f"hosts {name} and {other} have the same address {address}"
            yield error(TWICE, message, place, "give each host its own address, or remove one of them")


def _retired(document: Document, hosts: Entries) -> Iterator[Finding]:
    """Find retired hosts that are still hosts of the fleet, by name or as the same machine."""
    machines = {_machine(host, host.get("ssh")): name for name, host in hosts.items()}
    for name, host in entries(document, "retired").items():
        machine, place = _machine(host, host), document.at_value(("retired", name, "address"))
        other = machines.get(machine) if machine is not None else None
        if name in hosts:
            message = f"retired host {name} is also under hosts (line {document.at_key(('hosts', name)).mark.line})"
            hint = "remove one of them: sparkiac would be removed from a host that it manages"
            yield error(TWICE, message, document.at_key(("retired", name)), hint)
        elif other is not None:
            hint = f"remove the entry: sparkiac would be removed from {other}"
            yield error(TWICE, f"retired host {name} is the same machine as host {other}", place, hint)


def _machine(host: dict[str, Any], ssh: object) -> tuple[str, str] | None:
    """Return address and SSH port of a host; None if the address is not valid."""
    address, port = host.get("address"), ssh.get("port") if isinstance(ssh, dict) else None
    return (address, str(port or 22)) if isinstance(address, str) else None


def _images(document: Document, name: str, host: dict[str, Any], hosts: Entries) -> Iterator[Finding]:
    """Find a host whose `images_from` is unknown, is the host itself, or does not pull images."""
    peer, place = host.get("images_from"), document.at_value(("hosts", name, "images_from"))
    if not isinstance(peer, str):
        return
    if peer not in hosts or peer == name:
        hint = nearest(peer, hosts.keys() - {name}) or "remove it: no other host can provide the images"
        yield error(UNKNOWN, f"unknown host {peer!r}", place, hint)
    elif hosts[peer].get("images_from") is not None:
        message = f"{name} gets its images from {peer}, which gets its images from another host"
        yield error(NEEDED, message, place, f"use the host that pulls the images: {hosts[peer]['images_from']}")


def _recipe(document: Document, name: str, deployment: dict[str, Any], library: Library) -> Iterator[Finding]:
    base: Path = ("deployments", name)
    recipe, variant = _name(forms.RECIPE, deployment.get("recipe")), _name(forms.NAME, deployment.get("variant"))
    if recipe is None:
        yield from _inline(document, base, deployment)
        return
    if "engine" in deployment:
        message = f"deployment {name} sets both recipe and engine; the recipe sets the engine"
        yield error(TWICE, message, document.at_key((*base, "engine")), "remove `engine` or `recipe`")
    known = library.recipe(recipe)
    if known is None or known.value is None:
        if known is None:  # a file that is not valid has findings of its own
            names = _servable(library, deployment.get("hosts"))
            yield _unknown("recipe", recipe, names, document.at_value((*base, "recipe")))
        return
    yield from _usable(known.value, recipe, document.at_value((*base, "recipe")))
    chosen = None if variant is None else library.variant(recipe, variant)
    if variant is not None and chosen is None:
        variants = {each: library.variant(recipe, each) for each in library.variant_names(recipe)}
        fitting = _fitting(variants, known.value, deployment.get("hosts"))
        hint = nearest(variant, fitting) or f"remove `variant`: {recipe} has none for this deployment"
        yield error(UNKNOWN, f"unknown variant {variant!r}", document.at_value((*base, "variant")), hint)
    elif chosen is not None and chosen.value is not None:
        yield from _usable(chosen.value, f"{recipe}#{variant}", document.at_value((*base, "variant")))
    yield from _nodes(document, base, deployment.get("hosts"), (known.value, chosen.value if chosen else None))
    if known.value.model is None and deployment.get("model") is None and known.value.status == "recipe":
        message = f"deployment {name} has no model: recipe {recipe} serves any model and sets none"
        yield error(NEEDED, message, document.at_key(base), "add `model: organisation/name`, as on the model hub")


def _servable(library: Library, hosts: object) -> list[str]:
    """Return the recipes that can be deployed on so many hosts."""
    found = ((name, library.recipe(name)) for name in library.recipe_names())
    return [name for name, recipe in found if recipe and recipe.value and _fits(recipe.value, recipe.value, hosts)]


def _fitting(variants: Mapping[str, Source[Variant] | None], recipe: Recipe, hosts: object) -> list[str]:
    """Return the variants of a recipe that can be deployed on so many hosts."""
    return [name for name, each in variants.items() if each and each.value and _fits(each.value, recipe, hosts)]


def _fits(entry: Recipe | Variant, recipe: Recipe, hosts: object) -> bool:
    """Return whether an entry can be deployed on so many hosts, with an engine that can serve on them together."""
    listed = _count(hosts)
    together = listed == 1 or engines.named(recipe.engine).groups is not None
    return {entry.status, recipe.status} == {"recipe"} and (entry.nodes or recipe.nodes) <= listed and together


def _inline(document: Document, base: Path, deployment: dict[str, Any]) -> Iterator[Finding]:
    """Find required keys that a deployment without a recipe does not set."""
    if any(slip_of(key, ("recipe",)) for key in deployment.keys() - _OTHER_KEYS):  # there, or misspelled
        return
    if "engine" not in deployment:
        hint = "add `recipe:` with a name from `sparkiac recipes list`, or add `engine:`, `image:` and `model:`"
        yield error(NEEDED, f"deployment {base[-1]} has neither a recipe nor an engine", document.at_key(base), hint)
    elif name := _name(forms.NAME, deployment["engine"]):
        yield from _engine(name, document.at_value((*base, "engine")))
    if "variant" in deployment:
        message = f"deployment {base[-1]} has a variant but no recipe"
        yield error(NEEDED, message, document.at_key((*base, "variant")), "add `recipe:` or remove `variant`")


def _engine(name: str, place: Loc) -> Iterator[Finding]:
    if name not in engines.names():
        yield _unknown("engine", name, engines.names(), place)


def _usable(entry: CatalogEntry, name: str, place: Loc) -> Iterator[Finding]:
    """Refuse a recipe that its source only mentions or has retired: there is no command to render."""
    if entry.status in {"mention", "retired"}:
        state = "only mentioned by its source, without a command" if entry.status == "mention" else "retired"
        hint = f"the nearest recipe is {entry.instead}" if entry.instead else "start from a recipe under base/"
        yield Finding(*_NO_RECIPE, Severity.ERROR, f"{name} is {state}: {entry.why}", place, hint, entry.sources[0])


def _nodes(document: Document, base: Path, hosts: object, chosen: tuple[Recipe, Variant | None]) -> Iterator[Finding]:
    """Find a deployment on fewer hosts than its recipe needs."""
    recipe, variant = chosen
    needed = (variant.nodes if variant else None) or recipe.nodes
    listed = _count(hosts)
    if listed < needed:
        message = f"deployment {base[-1]} needs {needed} hosts, but `hosts` lists {listed}"
        yield error(NEEDED, message, document.at_value((*base, "hosts")), "add names: `hosts: [spark-01, spark-02]`")


def _count(hosts: object) -> int:
    """Return the number of hosts in the value of `hosts`."""
    return len(hosts) if isinstance(hosts, tuple) else 1


def _name(form: str, value: object) -> str | None:
    return value if isinstance(value, str) and re.fullmatch(form, value) else None


def _hosts(document: Document, base: Path, entry: dict[str, Any], *, known: Entries) -> Iterator[Finding]:
    """Check the names under `hosts` and under `per_host`."""
    seen = set[str]()
    chosen = dict(_chosen(entry.get("hosts"), (*base, "hosts")))
    for path, host in chosen.items() if known else ():
        if host not in known:
            yield from _unknown_host(document, host, known, path)
        elif host in seen:
            yield error(TWICE, f"host {host} is listed twice", document.at_value(path), "list each host once")
        elif len(chosen) > 1 and known[host].get("fabric") is None:
            message = f"host {host} has no fabric link, but {base[-1]} runs on {len(chosen)} hosts"
            hint = f"run sparkiac fabric discover, or add hosts.{host}.fabric.links"
            yield error(NEEDED, message, document.at_value(path), hint)
        seen.add(host)
    special = entry.get("per_host")
    for host in special if isinstance(special, dict) and chosen else ():
        if host not in chosen.values():
            place = document.at_key((*base, "per_host", host))
            yield _unknown("host of this deployment", host, chosen.values(), place)


def _known(document: Document, hosts: object, base: Path, known: Entries) -> Iterator[Finding]:
    """Check that one host or each host of a list is known."""
    for path, host in _chosen(hosts, base):
        if host not in known:
            yield from _unknown_host(document, host, known, path)


def _chosen(hosts: object, path: Path) -> Iterator[tuple[Path, str]]:
    """Return path and name of each host; the value is one name or a list of names."""
    for index, host in enumerate(hosts if isinstance(hosts, tuple) else (hosts,)):
        if name := _name(forms.NAME, host):
            yield ((*path, index) if isinstance(hosts, tuple) else path), name


def _unknown_host(document: Document, host: str, known: Entries, path: Path) -> Iterator[Finding]:
    if host in entries(document, "retired"):
        hint = f"use another host, or move {host} from `retired:` to `hosts:`"
        yield error(UNKNOWN, f"host {host!r} is retired", document.at_value(path), hint)
    elif host not in {*map(forms.as_name, known), *unknown_sections(document)}:
        yield _unknown("host", host, known, document.at_value(path))


def _unknown(what: str, name: str, known: Iterable[Any], loc: Loc) -> Finding:
    return error(UNKNOWN, f"unknown {what} {name!r}", loc, nearest(name, known))


def error(code: tuple[str, str], message: str, loc: Loc, hint: str) -> Finding:
    """Return a finding."""
    return Finding(*code, Severity.ERROR, message, loc, hint)


def unknown_sections(document: Document) -> tuple[str, ...]:
    """Return the keys at the top level that no inventory has: misspelt ones, and entries that are not indented."""
    return tuple(str(path[0]) for path in document.keys if len(path) == 1 and path[0] not in Inventory.model_fields)


def mapping(data: object, key: str) -> dict[str, Any]:
    """Return the mapping under a key; empty if there is none."""
    found = data.get(key) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}


def entries(document: Document, kind: str) -> dict[str, dict[str, Any]]:
    """Return the named entries under a key of the document, without those that are not mappings."""
    found = mapping(document.data, kind)
    return {name: entry if isinstance(entry, dict) else {} for name, entry in found.items()}
