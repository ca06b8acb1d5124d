"""Fetch the recipes of sources, pin and write them, and remove those of sources that no inventory names any more."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from sparkiac.commands.inputs import Exit, known, lock_path, read, recipes_path, show
from sparkiac.commands.recipes.writing import left_over
from sparkiac.report.characters import escaped_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sparkiac.catalog.library import RecipeText
    from sparkiac.model.lock import LockedSource, RecipeSource
    from sparkiac.pipeline import InputFile
    from sparkiac.report import Finding
    from sparkiac.upstream.git import FetchedFiles


_DEEPEST: Final = 2
"""Folders above the file of a variant."""
_LONGEST_REASON: Final = 500
"""Limit of the reason in the lock why a file is not used, in characters."""


class FetchedSource(NamedTuple):
    """One source with its new files."""

    name: str
    locked: LockedSource
    texts: tuple[RecipeText, ...]

    @property
    def files(self) -> dict[str, bytes]:
        """Return path below the source → content."""
        return {each.below: each.raw for each in self.texts}


def fetch(inventory: Path, names: tuple[str, ...], *, upgrade: bool, dry_run: bool) -> int:
    """Fetch what is missing, or what is upgraded; print the differences; write files and lock."""
    from sparkiac import pipeline
    from sparkiac.lock.merge import with_sources
    from sparkiac.resolve import references
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
    kept = _unchanged(wanted, pinned, files[0].fetched, moved)
    beside = [*files[0].recipes, *(file for name in kept for file in files[0].fetched[name])]
    former = {name: pinned.get(name) for name in wanted if name not in kept}
    try:
        new = [*_each_fetched(inventory, wanted, former, moved, beside)]
    except _Refused as error:
        click.echo(escaped_line(str(error)), err=True)
        return error.code
    if faults := references.read_recipes([*beside, *(text for each in new for text in each.texts)])[1]:
        return _refuse(faults)  # of the repository's own recipes, beside the fetched ones
    same = {name: pinned[name] for name in kept}
    diff = _print(inventory, files[0].fetched, same, new)
    locked = {**same, **{each.name: each.locked for each in new}}
    text = pipeline.lock_text(files[1], with_sources(lock.document if lock else None, locked))
    left = left_over(files[0])
    changed = bool(diff or left) or text != (files[1].raw if files[1] else None)
    _remove(files[0], left, dry_run=dry_run)
    if not dry_run and changed:
        _write(files[0].fetched, new)
        replace(lock_path(inventory), text)
    state = ("would be written" if dry_run else "written") if changed else "up to date"
    click.echo(f"{lock_path(inventory)}: {state}")
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


def _unchanged(
    wanted: Mapping[str, RecipeSource],
    pinned: Mapping[str, LockedSource],
    present: Mapping[str, tuple[RecipeText, ...]],
    moved: Collection[str],
) -> list[str]:
    """Return the sources that stay as they are; the others must be fetched."""
    from sparkiac.resolve import sources

    return [
        name
        for name, source in wanted.items()
        if name not in moved
        and name in pinned
        and sources.is_of(pinned[name], source)
        and not [*sources.differences(pinned[name], present.get(name, ()))]
    ]


def _each_fetched(
    inventory: Path,
    wanted: Mapping[str, RecipeSource],
    former: Mapping[str, LockedSource | None],
    moved: Collection[str],
    beside: Sequence[RecipeText],
) -> Iterator[FetchedSource]:
    """Fetch each source of `former`, at its pin if it is not `moved`; no recipe may have the name of another."""
    known = [*beside]
    for name, pinned in former.items():
        found = _fetched(wanted[name], pinned, _folder(inventory, name), known, upgrade=name in moved)
        known += found.texts
        yield found


def _fetched(
    source: RecipeSource, pinned: LockedSource | None, folder: Path, beside: Sequence[RecipeText], *, upgrade: bool
) -> FetchedSource:
    """Fetch a source: at the pin of the lock if it is still the same source, else at the revision or tag."""
    from sparkiac.lock.merge import locked_source
    from sparkiac.resolve import sources

    name = folder.name
    known = pinned if pinned and sources.is_of(pinned, source) else None
    same = None if upgrade else known
    found = _from_git(name, source, same) if source.git else _from_registry(name, source, same)
    if known and (older := sources.older(known, found.pin, found.created)):
        raise _Refused(f"source {name}: {source.address} has {older}", Exit.FINDINGS)
    recipes, refused = _recipes(name, source, found)
    fetched, unreadable = _readable(recipes, folder, beside)
    if not fetched:
        raise _Refused(f"source {name}: {source.address} has no recipes in {source.path} at {found.pin}", Exit.FINDINGS)
    files = {each.below: each.raw for each in fetched}
    left_out = (*refused, *unreadable)
    locked = locked_source(source, found.pin, files, refused=left_out, created=found.created)
    if same and locked.files != same.files:
        message = f"source {name}: the files at {found.pin} differ from their hashes in the lock; another version of "
        hint = f"sparkiac may have read them otherwise; if that is expected, run with --upgrade {name}"
        raise _Refused(message + hint, Exit.FINDINGS)
    return FetchedSource(name, locked, fetched)


def _readable(
    files: Mapping[str, bytes], folder: Path, beside: Sequence[RecipeText]
) -> tuple[tuple[RecipeText, ...], tuple[str, ...]]:
    """Return the files that are recipes, and a line with the reason for each other; print these lines."""
    from sparkiac.catalog.library import RecipeText
    from sparkiac.resolve import references

    texts = [
        RecipeText(str(folder / path), tuple(path.removesuffix(".yaml").split("/")), raw) for path, raw in files.items()
    ]
    fit, refused = references.readable(texts, beside)
    pairs = ((each.loc, f"not used: {each.code} {each.message}") for each in refused if each.loc)
    named = (f"{at.file}:{at.mark.line}:{at.mark.column}: {why}" for at, why in pairs)
    return fit, _named(folder.name, (line.replace(f"{folder}/", "") for line in named))


def _named(source: str, lines: Iterable[str]) -> tuple[str, ...]:
    """Print a line for each file that is left out, and return the lines as the lock has them."""
    from sparkiac.foreign import redaction

    shown = tuple(map(escaped_line, lines))
    for line in shown:
        click.echo(f"{source}: {line}", err=True)
    return tuple(redaction.redacted(line, longest=_LONGEST_REASON) for line in shown)


def _from_git(name: str, source: RecipeSource, pinned: LockedSource | None) -> FetchedFiles:
    from sparkiac.upstream import git
    from sparkiac.upstream.programs import ProgramError

    try:
        return git.fetch(
            source.address, pinned.pin if pinned else source.revision, source.path, signers=source.signed_by
        )
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
    """Return the recipes of a repository as they would be written, and lines on skipped files; name what is lost."""
    if source.format == "sparkiac":
        recipes = {path: raw for path, raw in found.files.items() if 1 <= path.count("/") <= _DEEPEST}
        left = sorted(found.files.keys() - recipes.keys())
        skipped = [f"{path}: skipped: not VENDOR/NAME.yaml or VENDOR/NAME/VARIANT.yaml" for path in left]
        lost: Sequence[str] = ()
    else:
        from sparkiac.commands.import_ import compared
        from sparkiac.foreign.recipes import converted

        files, origin = found.files, f"{source.address}, {source.path}"
        result = converted(files, kind=source.format, vendor=name, origin=origin, compared=compared)
        recipes, skipped, lost = dict(result.files), [*result.skipped], result.lost
    refused, _ = (_named(name, (f"{source.path}/{line}" for line in lines)) for lines in (skipped, lost))
    return recipes, refused


def _folder(inventory: Path, name: str) -> Path:
    return recipes_path(inventory).with_name("sources") / name


def _print(
    inventory: Path,
    present: Mapping[str, tuple[RecipeText, ...]],
    same: Mapping[str, LockedSource],
    new: Iterable[FetchedSource],
) -> str:
    """Print what each source that stays leaves out, and the patch of each fetched one; return the patches."""
    from sparkiac import write
    from sparkiac.resolve import sources

    patches = ""
    for name, locked in same.items():
        _named(name, locked.refused)
    for each in new:
        before = {file.below: file.raw for file in present.get(each.name, ())}
        patch = "".join(
            write.diff_of(str(_folder(inventory, each.name) / path), before.get(path, b""), each.files.get(path, b""))
            for path in sorted(before.keys() | each.files.keys())
        )
        click.echo(patch, nl=False)
        for path, raw in each.files.items():
            for power in sorted(sources.powers(path, raw) - sources.powers(path, before.get(path, b""))):
                click.echo(escaped_line(f"{each.name}: {path} {power}"))
        number = f"{len(each.files)} file{'s' if len(each.files) > 1 else ''}"
        click.echo(f"{each.name}: {number} of {each.locked.address} at {each.locked.pin}")
        patches += patch
    return patches


def _write(present: Mapping[str, tuple[RecipeText, ...]], new: Iterable[FetchedSource]) -> None:
    """Write the files of the fetched sources that changed, and remove those that a source no longer has."""
    from sparkiac import write

    for each in new:
        before = {file.below: file for file in present.get(each.name, ())}
        for text in each.texts:
            if text.below not in before or before[text.below].raw != text.raw:
                Path(text.path).parent.mkdir(parents=True, exist_ok=True)
                write.replace(Path(text.path), text.raw)
        for path in before.keys() - each.files.keys():
            Path(before[path].path).unlink()


def _remove(inventory: InputFile, sources: Iterable[str], *, dry_run: bool) -> None:
    """Remove the recipes of these sources, and the folders that are empty then; say so."""
    for source in sources:
        click.echo(f"{source}: no inventory names it; its recipes {'would be' if dry_run else 'are'} removed")
        for file in () if dry_run else inventory.fetched[source]:
            path = Path(file.path)
            path.unlink()
            for folder in path.parents[: len(file.parts)]:
                if any(folder.iterdir()):
                    break
                folder.rmdir()
