"""Convert the recipes of a repository of another tool to recipes of sparkiac."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sparkiac import importers
from sparkiac.importers import assemble, redaction
from sparkiac.importers.launch import grouped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sparkiac.importers.draft import DraftEntry
    from sparkiac.importers.launch import Note


class ConvertedRecipes(NamedTuple):
    """Recipes of a repository."""

    files: Mapping[str, bytes]
    """vendor/name.yaml → text of the recipe."""
    lost: tuple[str, ...]
    """Settings that could not be converted, each as `PATH:LINE: lost: setting: reason`."""
    skipped: tuple[str, ...]
    """Files that are no recipes of one server, each as `PATH:LINE: skipped: reason`."""


def converted(files: Mapping[str, bytes], *, kind: str, vendor: str, origin: str) -> ConvertedRecipes:
    """Convert each file of the format `kind`. `origin` is the repository with its commit."""
    found: dict[str, bytes] = {}
    lost: list[str] = []
    skipped: list[str] = []
    for path in sorted(files):
        name = f"{vendor}/{_slug(path)}.yaml"
        try:
            text, notes = _recipe(_decoded(files[path]), kind, f"{origin}: {path}")
        except importers.Unreadable as error:
            skipped.append(f"{path}:{error.line}: skipped: {error}")
            continue
        if name in found:
            skipped.append(f"{path}:1: skipped: another file has the name {name}")
            continue
        found[name] = text.encode()
        lost += (f"{path}:{each.lines[0]}: lost: {each.what}: {each.why}" for each in grouped(notes))
    return ConvertedRecipes(found, tuple(lost), tuple(skipped))


def _decoded(raw: bytes) -> str:
    """Return the text of a file. Raises Unreadable."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        message = "it is not UTF-8 text"
        raise importers.Unreadable(message, line=raw.count(b"\n", 0, error.start) + 1) from None


def _recipe(text: str, kind: str, file: str) -> tuple[str, list[Note]]:
    """Return the recipe of a file, and the notes about the settings that it lost. Raises Unreadable."""
    launches = [(file, each) for each in importers.named(kind).read(text, name=file)]
    entries = assemble.entries(launches, redaction.secret_values(text))
    servers = [entry for _, entry in entries if entry.kind == "deployment"]
    if len(servers) != 1:
        raise _not_one([entry for _, entry in entries], servers)
    return assemble.recipe(file, servers[0]), [note for note in servers[0].notes if note.kind == "lost"]


def _not_one(entries: Sequence[DraftEntry], servers: Sequence[DraftEntry]) -> importers.Unreadable:
    """Return the error for a file that starts several servers, or none because of what was lost."""
    if servers:
        return importers.Unreadable(f"it starts {len(servers)} servers; a recipe has one", line=servers[1].launch.line)
    lost = grouped(note for entry in entries for note in entry.notes if note.kind == "lost")
    reasons = "".join(f"; {each.what}: {each.why}" for each in lost)
    return importers.Unreadable(f"it starts no server{reasons}", line=lost[0].lines[0] if lost else 1)


def _slug(path: str) -> str:
    """Return the name of a recipe: the path without its suffix, with hyphens for all other characters."""
    return re.sub(r"[^a-z0-9._]+", "-", path.lower().removesuffix(".yaml")).strip("-._") or "recipe"
