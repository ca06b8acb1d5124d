"""The recipes of the repository in whose directory a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import recipe_files, show, source_files

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
    """Return the shipped recipes and those in `recipes` and `sources`; end with exit code 2 if a file has errors."""
    fetched = (file for files in source_files(SOURCES).values() for file in files)
    return _read((*recipe_files(FOLDER), *fetched)).library


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
