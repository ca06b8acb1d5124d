"""One side of a comparison: an inventory from the disk or from a commit, with its plan, files and findings."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import click

from sparkiac.catalog.library import RecipeText
from sparkiac.commands.inputs import (
    interfaces_path,
    links_path,
    lock_path,
    measurements_path,
    read,
    recipes_path,
    reject,
)
from sparkiac.pipeline import InputFile
from sparkiac.plan import Plan
from sparkiac.report import Report
from sparkiac.report.artifact import Artifact
from sparkiac.report.characters import escaped_line

Files: TypeAlias = tuple[InputFile, InputFile | None]
"""An inventory and its lock."""

_SUFFIXES: Final = frozenset({".yaml", ".yml"})


class Side(NamedTuple):
    """An inventory that can be compared."""

    name: str
    plan: Plan
    artifacts: tuple[Artifact, ...]
    report: Report


def from_disk(inventory: Path, other: Path) -> Files:
    """Read an inventory; if there is no such file, the error suggests a revision of `other`."""
    try:
        return read(inventory)
    except click.UsageError as error:
        if inventory.exists() or inventory.suffix in _SUFFIXES:
            raise
        named = " ".join(map(click.format_filename, (inventory, other)))
        reject(f"{error.message}; to compare with a commit: sparkiac diff --git {named}")


def from_git(revision: str, inventory: Path) -> Files:
    """Read an inventory, its lock and the files beside it from a commit."""
    from sparkiac.upstream import git

    single = (inventory, lock_path(inventory), links_path(inventory))
    folders = (interfaces_path(inventory), measurements_path(inventory))
    recipes = Path(os.path.relpath(recipes_path(inventory), inventory.parent))
    shared = (recipes, recipes.with_name("sources"))
    wanted = [*(path.name for path in single), *(f"{path.name}/" for path in folders), *(f"{each}/" for each in shared)]
    try:
        found = git.files(inventory.parent, revision, wanted)
    except git.GitError as error:
        message = f"{click.format_filename(inventory)} cannot be read from {revision}: {error}"
        reject(escaped_line(message))
    if inventory.name not in found:
        reject(f"{revision} has no {click.format_filename(inventory)}; name a commit that has it")
    with tempfile.TemporaryDirectory(prefix="sparkiac-diff-") as folder:
        return _read_copy(Path(folder), found, revision, inventory)


def _read_copy(folder: Path, found: dict[str, bytes], revision: str, inventory: Path) -> Files:
    """Write the files to a folder and read them as from disk; messages name the revision instead of the folder."""
    base = folder / inventory.resolve().parent.name
    for name, content in found.items():
        path = Path(os.path.normpath(base / name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    try:
        main, lock = read(base / inventory.name)
    except click.UsageError as error:
        reject(error.message.replace(str(base), f"{revision}:{inventory.parent}"))
    own = str(recipes_path(base / inventory.name)), f"{revision}:{recipes_path(inventory)}"
    recipes = _renamed(main.recipes, *own)
    beside = [str(Path(each).with_name("sources")) for each in own]
    fetched = {name: _renamed(files, *beside) for name, files in main.fetched.items()}
    named = main._replace(name=f"{revision}:{inventory}", recipes=recipes, fetched=fetched)
    return named, lock._replace(name=f"{revision}:{lock_path(inventory)}") if lock else None


def _renamed(files: tuple[RecipeText, ...], folder: str, shown: str) -> tuple[RecipeText, ...]:
    return tuple(each._replace(path=each.path.replace(folder, shown, 1)) for each in files)


def checked(files: Files) -> Side | Report:
    """Check and render an inventory; return its findings if it is not valid."""
    from sparkiac import pipeline

    outcome = pipeline.check(*files, allow_unlocked=True)
    if outcome.plan is None:
        return outcome.report
    return Side(files[0].name, outcome.plan, pipeline.render(outcome.plan), outcome.report)
