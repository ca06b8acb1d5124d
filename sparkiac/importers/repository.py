"""Convert the recipes of a repository of another tool to recipes of sparkiac."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sparkiac import importers
from sparkiac.importers import assemble, redaction

if TYPE_CHECKING:
    from collections.abc import Mapping


class ConvertedRecipes(NamedTuple):
    """Recipes of a repository."""

    files: Mapping[str, bytes]
    """vendor/name.yaml → text of the recipe."""
    lost: Mapping[str, int]
    """vendor/name.yaml → number of settings that could not be converted; comments in the text list them."""
    skipped: tuple[str, ...]
    """Files that are no recipes of one server, each with the reason."""


def converted(files: Mapping[str, bytes], *, kind: str, vendor: str, origin: str) -> ConvertedRecipes:
    """Convert each file of the format `kind`. `origin` is the repository with its commit."""
    found: dict[str, bytes] = {}
    lost: dict[str, int] = {}
    skipped: list[str] = []
    for path in sorted(files):
        name = f"{vendor}/{_slug(path)}.yaml"
        try:
            text, missing = _recipe(files[path], kind, f"{origin}: {path}")
        except (importers.Unreadable, UnicodeDecodeError) as error:
            skipped.append(f"{path}: {error}")
            continue
        if name in found:
            skipped.append(f"{path}: another file has the name {name}")
            continue
        found[name] = text.encode()
        lost |= {name: missing} if missing else {}
    return ConvertedRecipes(found, lost, tuple(skipped))


def _recipe(raw: bytes, kind: str, file: str) -> tuple[str, int]:
    """Return the recipe of a file, and the number of settings that it lost. Raises Unreadable."""
    text = raw.decode()
    launches = [(file, each) for each in importers.named(kind).read(text, name=file)]
    entries = assemble.entries(launches, redaction.secret_values(text))
    servers = [entry for _, entry in entries if entry.kind == "deployment"]
    if len(servers) != 1:
        message = f"it starts {len(servers)} servers"
        raise importers.Unreadable(message)
    return assemble.recipe(file, servers[0]), sum(note.kind == "lost" for note in servers[0].notes)


def _slug(path: str) -> str:
    """Return the name of a recipe: the path without its suffix, with hyphens for all other characters."""
    return re.sub(r"[^a-z0-9._]+", "-", path.lower().removesuffix(".yaml")).strip("-._") or "recipe"
