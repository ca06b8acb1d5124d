"""The recipes of the repository in whose directory a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import recipe_files, show

if TYPE_CHECKING:
    from sparkiac.catalog.library import Library

FOLDER = Path("recipes")


def own() -> Library:
    """Return the shipped recipes and those in the folder `recipes`; end with exit code 2 if one of these has errors."""
    from sparkiac.catalog import library
    from sparkiac.report import Report

    found, findings = library.read(recipe_files(FOLDER))
    if findings:
        show(Report.of(findings), "text")
        raise click.exceptions.Exit(Exit.BAD_INPUT)
    return found
