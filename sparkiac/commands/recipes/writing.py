"""The recipes of the current directory, and writing one: from a file of another tool, or from a deployment."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from sparkiac.commands.inputs import LOCK_SUFFIX, Exit, known, read, recipe_files, reject, show, source_files

if TYPE_CHECKING:
    from sparkiac.catalog.library import Library, RecipeText
    from sparkiac.pipeline import InputFile
    from sparkiac.report import Path as Keys
    from sparkiac.resolve import Resolved
    from sparkiac.resolve.leaves import Leaves

FOLDER: Final = Path("recipes")
SOURCES: Final = Path("sources")
_LEFT: Final = (
    "sources/{source}: no inventory in {folder} names it; `sparkiac recipes fetch {name}` removes its recipes"
)
_OF_FLEET: Final = frozenset({"api_key", "bind", "description", "model_store", "nodes", "port", "reachable_from"})
"""Keys of a deployment that describe the fleet and not the model."""
_LAYERS: Final = ("recipe ", "variant ", "fragment ", "inventory")
"""Layers whose values a recipe has to repeat: all others follow from the engine and the hosts."""
_FIRST: Final = ("title", "engine", "sources", "nodes", "use_cases", "image", "model")
"""Keys at the top of a recipe, in this order."""


class OwnRecipes(NamedTuple):
    """The recipes below a folder."""

    files: tuple[RecipeText, ...]
    library: Library
    """These recipes with the shipped ones."""


def own() -> Library:
    """Return the shipped recipes and those in `recipes` and `sources`; end with exit code 2 if an own file has errors.

    A fetched file with errors is named and left out.
    """
    from sparkiac.report import Report
    from sparkiac.resolve import references

    written = recipe_files(FOLDER)
    fetched = (file for files in source_files(SOURCES).values() for file in files)
    fit, refused = references.readable(fetched, written)
    if refused:
        show(Report.of(refused), "text")
    return _read((*written, *fit)).library


def refused() -> list[dict[str, str]]:
    """Return source and reason of each fetched file that is not used, from the locks of the current directory."""
    from sparkiac import pipeline

    found = dict[tuple[str, str], None]()
    for path in (
        each for folder in (Path(), FOLDER.with_name("inventories")) for each in folder.glob(f"*{LOCK_SUFFIX}")
    ):
        lock = pipeline.read_lock(pipeline.InputFile(str(path), path.read_bytes())).value
        pairs = ((name, why) for name, each in (lock.sources if lock else {}).items() for why in each.refused)
        found |= dict.fromkeys(pairs)
    return [{"source": source, "why": why} for source, why in sorted(found)]


def left_over(inventory: InputFile) -> list[str]:
    """Return the fetched sources that neither this inventory nor one beside it names, sorted.

    If an inventory beside it is not readable, its sources are unknown, and none is left over.
    """
    from sparkiac import pipeline
    from sparkiac.resolve import sources

    left, first = {name for name, files in inventory.fetched.items() if files}, Path(inventory.name)
    for path in (first, *sorted(set(first.parent.glob("*.yaml")) - {first})):
        if left and path.is_file() and not path.match("*.lock.yaml"):
            document = pipeline.read_inventory(pipeline.InputFile(str(path), path.read_bytes())).document
            if not isinstance(document.data, dict):
                return []
            left -= set(sources.names(document))
    return sorted(left)


def print_left_over(inventory: InputFile) -> None:
    """Print a line for each fetched source that no inventory uses."""
    folder, name = Path(inventory.name).parent, click.format_filename(inventory.name)
    for source in left_over(inventory):
        click.echo(_LEFT.format(source=source, folder=folder, name=name), err=True)


def below(directory: Path) -> OwnRecipes:
    """Return the shipped recipes and those in `recipes` of a directory; end with exit code 2 if a file has errors."""
    return _read(recipe_files(directory / FOLDER))


def _read(files: tuple[RecipeText, ...]) -> OwnRecipes:
    from sparkiac.report import Report
    from sparkiac.resolve import references

    found, findings = references.read_recipes(files)
    if findings:
        show(Report.of(findings), "text")
        raise click.exceptions.Exit(Exit.BAD_INPUT)
    return OwnRecipes(files, found)


def write(name: str, source: str, inventory: Path | None) -> int:
    """Write the recipe `name` from a file, or from the deployment `source` of an inventory."""
    from sparkiac.write import replace

    library = own()
    path = _path(name, library)
    text, lost = _imported(source) if inventory is None else (_of_deployment(source, inventory), False)
    if not _valid(name, path, text):
        return Exit.BAD_INPUT
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, text.encode())
    click.echo(f"{path}: written")
    click.echo(f"next: read it, then sparkiac recipes show {name}", err=True)
    return Exit.FINDINGS if lost else Exit.OK


def _path(name: str, library: Library) -> Path:
    """Return the file of a new recipe; refuse a name that is taken or has another form."""
    from sparkiac.model import forms

    if not re.fullmatch(forms.RECIPE, name):
        reject(f"{name!r} is not {forms.FORMS[forms.RECIPE]}")
    path = FOLDER / f"{name}.yaml"
    if library.recipe(name) is not None or path.exists() or path.is_symlink():
        reject(f"{name} exists in {library.file(name) or 'the catalog of sparkiac'}; choose another name")
    return path


def _imported(source: str) -> tuple[str, bool]:
    """Return the recipe of a file, and whether a part of the file was lost. Print the report."""
    from sparkiac.commands import import_
    from sparkiac.commands.inputs import wants_colour
    from sparkiac.report import Report
    from sparkiac.words import imports as of_import

    if not Path(source).exists():
        reject(f"there is no file {source}; to start from a deployment, add --inventory")
    found = import_.read_files((Path(source),))
    if found.findings:
        show(Report.of(found.findings), "text")
        raise click.exceptions.Exit(Exit.BAD_INPUT)
    text, entries = import_.one_recipe(found)
    shown = of_import.text(entries, found.skipped, Report(), colour=wants_colour(sys.stderr))
    click.echo(shown, err=True, nl=False)
    return text, of_import.lost(entries)


def _of_deployment(name: str, inventory: Path) -> str:
    """Return the recipe of a deployment; the inventory must be valid."""
    from sparkiac import pipeline
    from sparkiac.foreign import yamlwrite

    report, resolved = pipeline.resolve_inventory(*read(inventory))
    if resolved is None:
        show(report, "text")
        raise click.exceptions.Exit(Exit.BAD_INPUT)
    known("deployment", name, resolved.written.deployments)
    data = _recipe(resolved, name, f"deployment {name} of {inventory.name}")
    return yamlwrite.dump(data, {})


def _recipe(resolved: Resolved, name: str, source: str) -> dict[str, Any]:
    """Return the data of a recipe that starts what a deployment starts on its first host; `source` names it."""
    from sparkiac.resolve import hosts_of
    from sparkiac.resolve.leaves import nest

    written = resolved.written.deployments[name]
    hosts = hosts_of(written)
    base: Keys = ("deployments", name, hosts[0])
    leaves = {path[3:]: leaf for path, leaf in resolved.leaves.items() if path[:3] == base}
    engine = leaves["engine",][0]
    model = leaves["model",][0]
    head = {"title": written.description or f"{model} on {engine}", "engine": engine, "sources": (source,)}
    head |= {"nodes": len(hosts)} if len(hosts) > 1 else {}
    data = head | _of_entry(resolved, name, model) | nest(_settings(leaves, engine))
    return {key: data[key] for key in (*_FIRST, *sorted(data.keys() - set(_FIRST))) if key in data}


def _of_entry(resolved: Resolved, name: str, model: str) -> dict[str, Any]:
    """Return the facts and use cases of the deployment's recipe if it serves the same model."""
    from sparkiac.resolve import catalogued

    written = resolved.written.deployments[name]
    if written.recipe is None:
        return {}
    found = catalogued.named(catalogued.full_name(written.recipe, written.variant), resolved.library)
    entry = next((each for each in reversed(found.entries) if each.model == model), None)
    if entry is None:
        return {}
    facts = entry.facts.model_dump(mode="json", exclude_defaults=True) if entry.facts else {}
    return {"use_cases": found.use_cases} | ({"facts": facts} if facts else {})


def _settings(leaves: Leaves, engine: str) -> Leaves:
    """Return the values that the layers set, and null for each default of the engine that they remove."""
    from sparkiac import engines
    from sparkiac.resolve.leaves import constant

    chosen = {
        path: leaf
        for path, leaf in leaves.items()
        if path[0] not in _OF_FLEET | {"engine"} and leaf[1].layer.startswith(_LAYERS)
    }
    defaults = constant(engines.named(engine).defaults, layer="removed")
    removed = {path: (None, origin) for path, (_, origin) in defaults.items() if path not in leaves}
    return chosen | removed


def _valid(name: str, path: Path, text: str) -> bool:
    """Check the text as a recipe file, and print its errors."""
    from sparkiac.catalog.library import RecipeText
    from sparkiac.report import Report
    from sparkiac.resolve import references

    _, findings = references.read_recipes([RecipeText(str(path), tuple(name.split("/")), text.encode())])
    if findings:
        show(Report.of(findings), "text")
        click.echo(f"{path}: nothing was written", err=True)
    return not findings
