"""The recipes of the repository in whose directory a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import recipe_files, show, source_files

if TYPE_CHECKING:
    from sparkiac.catalog.library import Library

FOLDER: Final = Path("recipes")
SOURCES: Final = Path("sources")


def own() -> Library:
    """Return the shipped recipes and those in `recipes` and `sources`; end with exit code 2 if a file has errors."""
    from sparkiac.catalog import library
    from sparkiac.report import Report

    fetched = (file for files in source_files(SOURCES).values() for file in files)
    found, findings = library.read((*recipe_files(FOLDER), *fetched))
    if findings:
        show(Report.of(findings), "text")
        raise click.exceptions.Exit(Exit.BAD_INPUT)
    return found
