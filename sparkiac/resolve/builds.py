"""Merge the inventory's builds over the catalog's, and check that the builds in use are complete."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sparkiac import catalog
from sparkiac.model import forms
from sparkiac.model.images import Build, CatalogBuild
from sparkiac.model.inventory import Inventory
from sparkiac.report import Finding, Loc, Path
from sparkiac.resolve.leaves import Leaves, constant, from_document, merge, of_entry
from sparkiac.resolve.references import NEEDED, VALUE, error
from sparkiac.source import Source

_KEYS: Final = tuple(Build.model_fields)
_DEFAULTS: Final = {"allow_subject_match": False}
_OF_CHECKOUT: Final = ("base", "install")
"""Keys that a build from source needs, unless it runs a program that chooses both."""
_OF_LAYER: Final = ("base", "pip")
"""Keys of a build that only adds packages to its base."""
_OF_SOURCE: Final = ("repository", "commit", "install", "program", "fetch", "cherry_picks", "pull_requests", "mods")
"""Keys that only a build from source has."""
_EXAMPLES: Final = {
    "base": "registry/image:tag",
    "commit": "'<40 hex digits>'",
    "install": "[python3, -m, pip, install, .]",
    "pull_requests": "[{number: 1, repository: https://…, commit: '<40 hex digits>'}]",
    "repository": "https://…",
    "why": "…",
}


def resolve(inventory: Source[Inventory], leaves: Leaves) -> Leaves:
    """Resolve every build that a deployment or service runs."""
    found: Leaves = {}
    for name in sorted({name for _, name in _used(inventory, leaves)}):
        layers = merge(*stack(inventory, name))
        found |= {("builds", name, *path): leaf for path, leaf in layers.items()}
    return found


def stack(inventory: Source[Inventory], name: str) -> tuple[Leaves, ...]:
    """Return the layers of a build, lowest first."""
    known = catalog.build(name)
    below = of_entry(known.document, layer=f"build {name}", keys=_KEYS) if known else {}
    own = from_document(inventory.document, ("builds", name), layer="inventory", keys=_KEYS)
    return constant(_DEFAULTS, layer="build default"), below, own


def check(inventory: Source[Inventory], leaves: Leaves, values: dict[str, Any]) -> Iterator[Finding]:
    """Return a finding for every incomplete build, at the deployment or service that uses it."""
    for user, name in _used(inventory, leaves):
        build = values["builds"][name]
        place = inventory.document.at_value((*user, "image"))
        yield from _missing(name, build, user=str(user[-1]), place=place)
        yield from _contradictions(inventory, name, build, place)


def images(leaves: Leaves) -> Iterator[tuple[Path, str]]:
    """Return each deployment and service with its image, a deployment once per host."""
    for path, (value, _) in leaves.items():
        match path:
            case ("deployments", _, _, "image") | ("services", _, "image"):
                yield path[:2], value
            case ("monitoring", *_, "image"):
                yield path[:-1], value


def _used(inventory: Source[Inventory], leaves: Leaves) -> Iterator[tuple[Path, str]]:
    """Return each deployment and service whose image is a build, once."""
    for user, name in dict.fromkeys(images(leaves)):
        if name in inventory.valid.builds or _known(name) is not None:
            yield user, name


def _known(name: str) -> Source[CatalogBuild] | None:
    return catalog.build(name) if re.fullmatch(forms.NAME, name) else None


def _missing(name: str, build: Mapping[str, Any], *, user: str, place: Loc) -> Iterator[Finding]:
    known = catalog.build(name)
    asks = known.value.asks if known and known.value else {}
    layer = bool(build.get("pip")) and not {*_OF_SOURCE, *asks} & build.keys() and "repository" not in asks
    own = _OF_LAYER if layer else ("repository", "commit", *(() if "program" in build else _OF_CHECKOUT))
    needed = ("why", *own, *asks)
    missing = [key for key in dict.fromkeys(needed) if key not in build]
    if missing:
        message = f"{user} uses the build {name}, which has no {' and no '.join(missing)}"
        details = "".join(f"; {key}: {asks[key]}" for key in missing if key in asks)
        example = ", ".join(f"{key}: {_EXAMPLES[key]}" for key in missing)
        yield error(NEEDED, message, place, f"add `builds: {{{name}: {{{example}}}}}`{details}")


def _contradictions(inventory: Source[Inventory], name: str, build: Mapping[str, Any], place: Loc) -> Iterator[Finding]:
    for key in _OF_CHECKOUT if "program" in build else ():
        if key in build:
            message = f"build {name} runs a program and cannot have a {key}"
            yield error(VALUE, message, _place(inventory, name, key) or place, f"remove one of them: `{key}: null`")
    base = build.get("base", "")
    if base in inventory.valid.builds or _known(base) is not None:
        message = f"build {name} starts from {base}, which is a build itself"
        hint = "start from an image of a registry and put all changes into one build"
        yield error(VALUE, message, _place(inventory, name, "base") or place, hint)


def _place(inventory: Source[Inventory], name: str, key: str) -> Loc | None:
    """Return the position of a build's key in the inventory, if it is there."""
    path: Path = ("builds", name, key)
    return inventory.document.at_value(path) if path in inventory.document.values else None
