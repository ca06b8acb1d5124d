"""Fetch the recipes of sources, pin and write them, and remove those of sources that no inventory names any more."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from sparkiac.commands.inputs import Exit, known, lock_path, read, recipes_path, show
from sparkiac.report.characters import escaped_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from sparkiac.catalog.library import RecipeText
    from sparkiac.model.lock import LockedSource, RecipeSource
    from sparkiac.pipeline import InputFile
    from sparkiac.report import Finding
    from sparkiac.upstream.git import FetchedFiles


_DEEPEST: Final = 2
"""Folders above the file of a variant."""
_LEFT: Final = (
    "sources/{source}: no inventory in {folder} names it; `sparkiac recipes fetch {name}` removes its recipes"
)


class FetchedSource(NamedTuple):
    """One source with its new files."""

    name: str
    locked: LockedSource
    files: Mapping[str, bytes]
    notes: tuple[str, ...] = ()
    """What a conversion skipped or lost."""


def fetch(inventory: Path, names: tuple[str, ...], *, upgrade: bool, dry_run: bool) -> int:
    """Fetch what is missing, or what is upgraded; print the differences; write files and lock."""
    from sparkiac import pipeline
    from sparkiac.lock.merge import with_sources
    from sparkiac.write import replace

    files = read(inventory)
    source, lock = pipeline.read_inventory(files[0]), pipeline.read_lock(files[1]) if files[1] else None
    faults = (*source.findings, *(lock.findings if lock else ()))
    if source.value is None or faults:
        return _refuse(faults)
    wanted = source.value.sources
    for name in names:
        known("source", name, wanted)
    pinned = lock.value.sources if lock and lock.value else {}
    moved = set(names or wanted) if upgrade else set()
    kept, due = _split_by_pin(wanted, pinned, files[0].fetched, moved)
    try:
        new = [_fetched(name, wanted[name], None if name in moved else pinned.get(name)) for name in due]
    except _Refused as error:
        click.echo(escaped_line(str(error)), err=True)
        return error.code
    if faults := _faults(inventory, files[0], new, kept):  # of the fetched recipes
        return _refuse(faults)
    diff = _print(inventory, files[0].fetched, new)
    locked = {**{name: pinned[name] for name in kept}, **{each.name: each.locked for each in new}}
    text = pipeline.lock_text(files[1], with_sources(lock.document if lock else None, locked))
    left = left_over(files[0])
    changed = bool(diff or left) or text != (files[1].raw if files[1] else None)
    for name in left:
        click.echo(f"{name}: no inventory names it; its recipes {'would be' if dry_run else 'are'} removed")
    if not dry_run and changed:
        _write(inventory, files[0].fetched, new)
        _remove(files[0], left)
        replace(lock_path(inventory), text)
    state = "written" if changed else "up to date"
    click.echo(f"{lock_path(inventory)}: {'would be written' if changed and dry_run else state}")
    return Exit.STALE if dry_run and changed else Exit.OK


class _Refused(Exception):  # noqa: N818  its text is the message
    """A source cannot be fetched, or differs from the lock."""

    def __init__(self, message: str, code: Exit) -> None:
        super().__init__(message)
        self.code = code


def _refuse(findings: Iterable[Finding]) -> int:
    from sparkiac.report import Report

    show(Report.of(findings), "text")
    return Exit.BAD_INPUT


def _split_by_pin(
    wanted: Mapping[str, RecipeSource],
    pinned: Mapping[str, LockedSource],
    present: Mapping[str, tuple[RecipeText, ...]],
    moved: Collection[str],
) -> tuple[list[str], list[str]]:
    """Return the sources that stay as they are, and those that must be fetched."""
    from sparkiac.resolve import sources

    kept = [
        name
        for name, source in wanted.items()
        if name not in moved
        and name in pinned
        and sources.is_of(pinned[name], source)
        and not [*sources.differences(pinned[name], present.get(name, ()))]
    ]
    return kept, [name for name in wanted if name not in kept]


def _fetched(name: str, source: RecipeSource, pinned: LockedSource | None) -> FetchedSource:
    """Fetch a source: at the pin of the lock if it is still the same source, else at the revision or tag."""
    from sparkiac.lock.merge import locked_source
    from sparkiac.resolve import sources

    same = pinned if pinned and sources.is_of(pinned, source) else None
    found = _from_git(name, source, same) if source.git else _from_registry(name, source, same)
    files, notes = _recipes(name, source, found)
    if not files:
        raise _Refused(f"source {name}: {source.address} has no recipes in {source.path} at {found.pin}", Exit.FINDINGS)
    locked = locked_source(source, found.pin, files)
    if same and locked != same:
        message = f"source {name}: the files at {found.pin} differ from their hashes in the lock; "
        converted = source.format != "sparkiac"
        hint = "another version of sparkiac may have converted them; " if converted else ""
        hint += f"if that is expected, run with --upgrade {name}"
        raise _Refused(message + hint, Exit.FINDINGS)
    return FetchedSource(name, locked, files, notes)


def _from_git(name: str, source: RecipeSource, pinned: LockedSource | None) -> FetchedFiles:
    from sparkiac.upstream import git
    from sparkiac.upstream.programs import ProgramError

    try:
        return git.fetch(source.address, pinned.pin if pinned else source.revision, source.path)
    except ProgramError as error:
        raise _Refused(f"source {name}: {source.address}: {error}", Exit.IO) from None


def _from_registry(name: str, source: RecipeSource, pinned: LockedSource | None) -> FetchedFiles:
    from sparkiac.upstream import errors, registry
    from sparkiac.upstream.registry import artifacts
    from sparkiac.upstream.registry.client import RegistryClient
    from sparkiac.upstream.registry.credentials import Credentials

    try:
        named = registry.parse(source.address)
        with RegistryClient(Credentials(os.environ)) as client:
            return artifacts.fetch(named._replace(digest=pinned.pin) if pinned else named, source.path, client=client)
    except errors.UpstreamError as error:
        message = f"source {name}: {error}{f'; {error.hint}' if error.hint else ''}"
        raise _Refused(message, Exit.FINDINGS if error.code == errors.REGISTRY_INVALID else Exit.IO) from None


def _recipes(name: str, source: RecipeSource, found: FetchedFiles) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the recipes of a repository as they will be written, and notes about what is left out."""
    if source.format != "sparkiac":
        from sparkiac.foreign import recipes as foreign_recipes

        origin = f"{source.address} at {found.pin}, {source.path}"
        result = foreign_recipes.converted(found.files, kind=source.format, vendor=name, origin=origin)
        return dict(result.files), tuple(f"{source.path}/{each}" for each in (*result.skipped, *result.lost))
    recipes = {path: raw for path, raw in found.files.items() if 1 <= path.count("/") <= _DEEPEST}
    left = sorted(found.files.keys() - recipes.keys())
    return recipes, tuple(
        f"{source.path}/{path}: skipped: not VENDOR/NAME.yaml or VENDOR/NAME/VARIANT.yaml" for path in left
    )


def _folder(inventory: Path, name: str) -> Path:
    return recipes_path(inventory).with_name("sources") / name


def _faults(inventory: Path, own: InputFile, new: Iterable[FetchedSource], kept: Iterable[str]) -> tuple[Finding, ...]:
    """Return the findings about all recipes as they would be."""
    from sparkiac.catalog.library import RecipeText
    from sparkiac.resolve import references

    texts = [*own.recipes, *(file for name in kept for file in own.fetched[name])]
    for each in new:
        for path, raw in each.files.items():
            parts = tuple(path.removesuffix(".yaml").split("/"))
            texts.append(RecipeText(str(_folder(inventory, each.name) / path), parts, raw))
    return references.read_recipes(texts)[1]


def _print(inventory: Path, present: Mapping[str, tuple[RecipeText, ...]], new: Iterable[FetchedSource]) -> str:
    """Print each fetched source with its notes and the patch of its files; return the patches."""
    from sparkiac import write

    patches = ""
    for each in new:
        before = {file.below: file.raw for file in present.get(each.name, ())}
        patch = "".join(
            write.diff_of(str(_folder(inventory, each.name) / path), before.get(path, b""), each.files.get(path, b""))
            for path in sorted(before.keys() | each.files.keys())
        )
        for note in each.notes:
            click.echo(f"{each.name}: {escaped_line(note)}", err=True)
        click.echo(patch, nl=False)
        number = f"{len(each.files)} file{'s' if len(each.files) > 1 else ''}"
        click.echo(f"{each.name}: {number} of {each.locked.address} at {each.locked.pin}")
        patches += patch
    return patches


def _write(inventory: Path, present: Mapping[str, tuple[RecipeText, ...]], new: Iterable[FetchedSource]) -> None:
    """Write the files of the fetched sources, and remove those that a source no longer has."""
    from sparkiac import write

    for each in new:
        folder = _folder(inventory, each.name)
        for path, raw in each.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            write.replace(folder / path, raw)
        for file in present.get(each.name, ()):
            if file.below not in each.files:
                Path(file.path).unlink()


def left_over(inventory: InputFile) -> list[str]:
    """Return the fetched sources that neither this inventory nor one beside it names, sorted.

    If an inventory beside it is not readable, its sources are unknown, and none is left over.
    """
    from sparkiac import pipeline
    from sparkiac.resolve import sources

    left = {name for name, files in inventory.fetched.items() if files}
    for each in _inventories(inventory):
        if not left:
            break
        document = pipeline.read_inventory(each).document
        if not isinstance(document.data, dict):
            return []
        left -= set(sources.names(document))
    return sorted(left)


def _inventories(first: InputFile) -> Iterator[InputFile]:
    """Yield this inventory, which usually names all sources, then those beside it; each is read when it is needed."""
    from sparkiac import pipeline

    yield first
    for path in sorted(Path(first.name).parent.glob("*.yaml")):
        if path.is_file() and path != Path(first.name) and not path.match("*.lock.yaml"):
            yield pipeline.InputFile(str(path), path.read_bytes())


def print_left_over(inventory: InputFile) -> None:
    """Print a line for each fetched source that no inventory uses."""
    folder, name = Path(inventory.name).parent, click.format_filename(inventory.name)
    for source in left_over(inventory):
        click.echo(_LEFT.format(source=source, folder=folder, name=name), err=True)


def _remove(inventory: InputFile, sources: Iterable[str]) -> None:
    """Remove the recipes of these sources, and the folders that are empty then."""
    for source in sources:
        for file in inventory.fetched[source]:
            path = Path(file.path)
            path.unlink()
            for folder in path.parents[: len(file.parts)]:
                if any(folder.iterdir()):
                    break
                folder.rmdir()
