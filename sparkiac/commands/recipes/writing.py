"""The recipes of the current directory, and writing one: from a file of another tool, or from a deployment."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from sparkiac.commands.inputs import Exit, known, read, recipe_files, reject, show, source_files

if TYPE_CHECKING:
    from sparkiac.catalog.library import Library, RecipeText

FOLDER: Final = Path("recipes")
SOURCES: Final = Path("sources")


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
    text = import_.one_recipe(found.entries)
    shown = of_import.text(found.entries, found.skipped, Report(), colour=wants_colour(sys.stderr))
    click.echo(shown, err=True, nl=False)
    return text, of_import.lost(found.entries)


def _of_deployment(name: str, inventory: Path) -> str:
    """Return the recipe of a deployment; the inventory must be valid."""
    from sparkiac import pipeline
    from sparkiac.foreign import yamlwrite
    from sparkiac.resolve import as_recipe

    report, resolved = pipeline.resolve_inventory(*read(inventory))
    if resolved is None:
        show(report, "text")
        raise click.exceptions.Exit(Exit.BAD_INPUT)
    known("deployment", name, resolved.written.deployments)
    data = as_recipe.of_deployment(resolved, name, f"deployment {name} of {inventory.name}")
    return yamlwrite.dump(data, {})


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
