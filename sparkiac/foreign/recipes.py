"""Imported servers → recipes of the catalog: one server of a file, or all recipes of another tool's repository."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from sparkiac import engines, foreign
from sparkiac.catalog.library import RecipeText
from sparkiac.engines.engine import HUB_HOME, HUB_HOMES
from sparkiac.foreign import assemble, draft, redaction, yamlwrite
from sparkiac.foreign.draft import DraftEntry
from sparkiac.foreign.launch import Note, decoded, grouped
from sparkiac.model import forms
from sparkiac.report import Path, placeholders

_LONGEST_TEXT: Final = 200
"""Limit of a recipe's source and title, in characters."""
_NO_RECIPE: Final = ("api_key", "bind", "reachable_from")
"""Keys that a deployment has and no recipe."""


class ConvertedRecipes(NamedTuple):
    """Recipes of a repository."""

    files: Mapping[str, bytes]
    """vendor/name.yaml → text of the recipe."""
    lost: tuple[str, ...]
    """Settings that could not be converted, each as `PATH:LINE: lost: setting: reason`."""
    skipped: tuple[str, ...]
    """Files that are not converted, each as `PATH:LINE: skipped: reason`."""


Entries: TypeAlias = Sequence[tuple[str, DraftEntry]]
Comparison: TypeAlias = Callable[[Entries, frozenset[str], RecipeText], Entries]
"""Plans deployments of a recipe, and returns them with notes on how they differ from their files."""


def converted(
    files: Mapping[str, bytes], *, kind: str, vendor: str, origin: str, compared: Comparison
) -> ConvertedRecipes:
    """Convert each file of the format `kind`. `origin` is the repository, whose commit is in the lock.

    A file is skipped if its recipe differs from it and no note gives the reason.
    """
    found: dict[str, bytes] = {}
    lost: list[str] = []
    skipped: list[str] = []
    for path in sorted(files):
        name = f"{vendor}/{_slug(path)}"
        try:
            text = decoded(files[path])
            file, entry = _server(text, kind, f"{origin}: {path}")
            written, entry = proven(file, entry, name, redaction.secret_values(text), compared)
        except foreign.Unreadable as error:
            skipped.append(f"{path}:{error.line}: skipped: {error}")
            continue
        if f"{name}.yaml" in found:
            skipped.append(f"{path}:1: skipped: another file has the name {name}.yaml")
            continue
        found[f"{name}.yaml"] = written.encode()
        notes = grouped(note for note in entry.notes if note.kind == "lost")
        lost += (f"{path}:{each.lines[0]}: lost: {each.what}: {each.why}" for each in notes)
    return ConvertedRecipes(found, tuple(lost), tuple(skipped))


def _server(text: str, kind: str, file: str) -> tuple[str, DraftEntry]:
    """Return the server of a file. Raises Unreadable."""
    launches = [(file, each) for each in foreign.importer(kind).read(text, name=file)]
    [(_, entry)] = assemble.entries(launches, redaction.secret_values(text))  # these formats start one container
    if entry.kind != "deployment":
        raise _unusable("it starts no server", entry.notes)
    return file, entry


def proven(
    file: str, entry: DraftEntry, name: str, hidden: frozenset[str], compared: Comparison
) -> tuple[str, DraftEntry]:
    """Return the recipe of a server, and its entry with notes on how the recipe differs from the file.

    Raises Unreadable for a difference without a reason.
    """
    text = RecipeText(f"{name}.yaml", tuple(name.split("/")), recipe(file, entry).encode())
    own = {key: entry.data[key] for key in _NO_RECIPE if key in entry.data}
    [(_, after)] = compared([(file, entry._replace(data={"recipe": name} | own))], hidden, text)
    if after.kind != "deployment":
        raise _unusable("its recipe starts another server", after.notes[len(entry.notes) :])
    after = after._replace(data=entry.data)
    return recipe(file, after), after


def _unusable(what: str, notes: Iterable[Note]) -> foreign.Unreadable:
    lost = [note for note in notes if note.kind == "lost"]
    reasons = "".join(f"; {each.what}: {each.why}" for each in grouped(lost))
    return foreign.Unreadable(f"{what}{reasons}", line=min((note.line for note in lost), default=1))


def _slug(path: str) -> str:
    """Return the name of a recipe: the path without its suffix, with hyphens for all other characters."""
    return re.sub(r"[^a-z0-9._]+", "-", path.lower().removesuffix(".yaml")).strip("-._") or "recipe"


def recipe(file: str, entry: DraftEntry) -> str:
    """Write one deployment as a catalog recipe, in full, whatever the catalog already contains."""
    assert entry.server is not None, "a deployment"  # noqa: S101
    server, launch = entry.server, entry.launch
    leaves = {path: value for path, value in server.leaves.items() if path[0] not in _NO_RECIPE}
    if server.store is not None or server.path is None:  # without a mount of its own, the tool mounts the hub's cache
        target = server.store.target if server.store else str(leaves.get(("env", HUB_HOMES[0]), HUB_HOME))
        leaves["container", "mounts", target] = {"source": "model_store"}
    if re.fullmatch(forms.IMAGE, launch.image or ""):
        leaves["image",] = launch.image
    model = entry.data.get("model") or server.model
    model = None if model == placeholders.MODEL else model
    leaves |= {("model",): model} if model else {}
    title = " ".join((launch.description or "").split())[:_LONGEST_TEXT].rstrip(" \\")
    data: dict[str, Any] = {
        "title": title or f"{engines.named(server.engine).title}: {model or entry.name}",
        "engine": server.engine,
        "sources": (redaction.redacted(f"imported from {file}", longest=_LONGEST_TEXT),),
    }
    data |= {"nodes": server.nodes} if server.nodes > 1 else {}
    comments: dict[Path, list[str]] = {}
    whole, refused = draft.without_invalid(data | draft.nested(leaves), "recipe", launch.line)
    assemble.comment(comments, (), entry._replace(notes=(*entry.notes, *refused)), whole, None)
    head = "".join(f"# {line}\n" for line in comments.pop((), []))
    return head + yamlwrite.dump(whole, comments)
