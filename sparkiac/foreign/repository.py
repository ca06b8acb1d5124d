"""Convert the recipes of a repository of another tool to recipes of sparkiac."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from sparkiac import foreign
from sparkiac.foreign import assemble, redaction
from sparkiac.foreign.launch import Note, grouped


class ConvertedRecipes(NamedTuple):
    """Recipes of a repository."""

    files: Mapping[str, bytes]
    """vendor/name.yaml → text of the recipe."""
    lost: tuple[str, ...]
    """Settings that could not be converted, each as `PATH:LINE: lost: setting: reason`."""
    skipped: tuple[str, ...]
    """Files that are not converted, each as `PATH:LINE: skipped: reason`."""


def converted(files: Mapping[str, bytes], *, kind: str, vendor: str, origin: str) -> ConvertedRecipes:
    """Convert each file of the format `kind`. `origin` is the repository with its commit."""
    found: dict[str, bytes] = {}
    lost: list[str] = []
    skipped: list[str] = []
    for path in sorted(files):
        name = f"{vendor}/{_slug(path)}.yaml"
        try:
            text, notes = _recipe(_decoded(files[path]), kind, f"{origin}: {path}")
        except foreign.Unreadable as error:
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
        raise foreign.Unreadable(message, line=raw.count(b"\n", 0, error.start) + 1) from None


def _recipe(text: str, kind: str, file: str) -> tuple[str, list[Note]]:
    """Return the recipe of a file, and the notes about the settings that it lost. Raises Unreadable."""
    launches = [(file, each) for each in foreign.importer(kind).read(text, name=file)]
    [(_, entry)] = assemble.entries(launches, redaction.secret_values(text))  # these formats start one container
    lost = [note for note in entry.notes if note.kind == "lost"]
    if entry.kind != "deployment":
        reasons = "".join(f"; {each.what}: {each.why}" for each in grouped(lost))
        message = f"it starts no server{reasons}"
        raise foreign.Unreadable(message, line=min((note.line for note in lost), default=1))
    return assemble.recipe(file, entry), lost


def _slug(path: str) -> str:
    """Return the name of a recipe: the path without its suffix, with hyphens for all other characters."""
    return re.sub(r"[^a-z0-9._]+", "-", path.lower().removesuffix(".yaml")).strip("-._") or "recipe"
