"""Record what each applied generation needs, and remove what no kept generation needs. Nothing else is removed."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..contract import validated
from ..generation import Needs
from ..local import FILES
from .images import docker, inspect
from .layouts import GIT_HASH, DirectoryLayout, HubLayout, layout_of
from .store import COMMIT, NAME, SHA256, StagedModel, StageError, locked, write_text

GENERATION = re.compile(r"[0-9a-zA-Z][\w.-]*")


class Roots(NamedTuple):
    """Directories of records, compile caches and extra files."""

    generations: Path = Path("/var/lib/sparkiac/generations")
    caches: Path = Path("/var/cache/sparkiac")
    files: Path = Path(FILES)


def roots_below(root: Path) -> Roots:
    """Return the directories of a host whose root directory is `root`."""
    return Roots(*(root / str(each).lstrip("/") for each in Roots()))


class GenerationRecord(NamedTuple):
    """Images, models and directories that one generation needs."""

    generation: str
    sequence: int
    images: dict[str, str]
    """Name → ID."""
    models: list[list[str]]
    """Store, layout, name, commit."""
    directories: list[str]
    """Compile caches and extra files."""


class Removable(NamedTuple):
    """One item to remove: its kind and size, and its paths or the name of the image."""

    kind: str
    name: str
    size_bytes: int
    paths: tuple[Path, ...] = ()
    model: StagedModel | None = None


def records(roots: Roots) -> list[GenerationRecord]:
    """Read all records, newest first; raise StageError if one cannot be read."""
    found = []
    for path in roots.generations.glob("*/record.json"):
        try:
            found.append(GenerationRecord(**json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, TypeError) as error:
            raise StageError(f"{path} cannot be read ({error}), so its needs are unknown: fix or remove it") from None
    return sorted(found, key=lambda record: record.sequence, reverse=True)


def record(generation: str, needs: dict[str, Any], roots: Roots, *, write: bool) -> bool:
    """Record what a generation needs, as the newest record; return whether the record has changed."""
    if not GENERATION.fullmatch(generation):
        raise StageError(f"not a valid generation name: {generation!r}")
    validated("program", "needs", needs, Needs)
    former = records(roots)
    newest = max((each.sequence for each in former), default=0)
    images = {name: (inspect(name) or ("", 0))[0] for name in sorted(needs["images"])}
    models = sorted(
        [store["path"], model["layout"], model["model"], model["commit"]]
        for store in needs["stores"]
        for model in store["models"]
    )
    directories = sorted(set(needs["caches"]) | {str((roots.files / path).parent) for path in needs["extra_files"]})
    now = GenerationRecord(generation, newest, images, models, directories)
    if now in former:
        return False
    if write:
        text = json.dumps(now._replace(sequence=newest + 1)._asdict(), indent=1) + "\n"
        write_text(roots.generations / generation / "record.json", text)
    return True


def divide(
    found: list[GenerationRecord], *, current: str, keep: int, needed: set[str]
) -> tuple[list[GenerationRecord], list[GenerationRecord]]:
    """Split the records into those to keep, among them the current one and those in `needed`, and the others."""
    ordered = sorted(found, key=lambda each: each.generation != current)
    if not ordered or ordered[0].generation != current:
        raise StageError(f"generation {current} has no record on this host: apply it first; nothing was removed")
    kept = [each for place, each in enumerate(ordered) if place < keep or each.generation in needed]
    return kept, [each for each in ordered if each not in kept]


def removable(kept: list[GenerationRecord], old: list[GenerationRecord], roots: Roots) -> Iterator[Removable]:
    """Return what only old records need."""
    yield from _images(kept, old)
    needed = [model for each in kept for model in each.models]
    for entry in _unique(model for each in old for model in each.models if model not in needed):
        yield from _model(*entry)
    needed_paths = {path for each in kept for path in each.directories}
    for name in _unique(path for each in old for path in each.directories if path not in needed_paths):
        path = Path(name)
        ours = path.parent == roots.files or roots.caches in path.parents
        if ours and ".." not in path.parts and path.is_dir() and not path.is_symlink():
            kind = "extra file" if path.parent == roots.files else "compile cache"
            yield Removable(kind, name, size_of(path), (path,))


def _unique(values: Iterator[Any]) -> list[Any]:
    return sorted({json.dumps(value): value for value in values}.values())


def _images(kept: list[GenerationRecord], old: list[GenerationRecord]) -> Iterator[Removable]:
    names = {name for each in kept for name in each.images}
    identities = {identity for each in kept for identity in each.images.values()}
    for name in sorted({name for each in old for name in each.images} - names):
        there = inspect(name)
        if there and there[0] not in identities:
            yield Removable("image", name, there[1])


def _model(store: str, layout: str, name: str, commit: str) -> Iterator[Removable]:
    """Return what to remove for a commit of a model."""
    if not (NAME.fullmatch(name) and ".." not in name and COMMIT.fullmatch(commit) and Path(store).is_absolute()):
        raise StageError(f"a record contains an invalid model: {store} {name}@{commit}")
    model = StagedModel(Path(store), name, commit, layout, gated=False, files=())
    place = layout_of(model)
    own = [place.whole] if isinstance(place, DirectoryLayout) and place.whole.is_dir() else []
    paths = hub_paths(place) if isinstance(place, HubLayout) else own
    if paths:
        yield Removable("model", f"{model.id} in {store}", sum(map(size_of, paths)), tuple(paths), model)


def hub_paths(place: HubLayout) -> list[Path]:
    """Return the snapshot and the blobs that only it uses; empty if another ref than main needs the commit."""
    removed = place.base / f"removed-{place.snapshot.name}"
    snapshots = [each for each in (place.snapshot, removed) if each.is_dir()]
    if not snapshots or set(refs_to(place)) - {place.root / "refs/main"}:
        return []
    others = [each for each in place.snapshot.parent.iterdir() if each != place.snapshot]
    needed = {blob for each in others for blob in blobs_of(each)}
    mine = {blob for each in snapshots for blob in blobs_of(each)}
    blobs = [place.root / "blobs" / name for name in sorted(mine - needed)]
    return [*snapshots, *(blob for blob in blobs if blob.is_file())]


def refs_to(place: HubLayout) -> Iterator[Path]:
    """Return the refs of a model that contain this commit."""
    for path in (place.root / "refs").rglob("*"):
        with contextlib.suppress(OSError, ValueError):
            if path.is_file() and path.read_text(encoding="ascii").strip() == place.snapshot.name:
                yield path


def blobs_of(snapshot: Path) -> set[str]:
    """Return the names of the blobs that a snapshot links to; other links are ignored."""
    names = {path.readlink().name for path in snapshot.rglob("*") if path.is_symlink()}
    return {name for name in names if SHA256.fullmatch(name) or GIT_HASH.fullmatch(name)}


def size_of(path: Path) -> int:
    """Return the bytes that removing a path would free; links and files with several hard links count as 0."""
    paths = [path, *path.rglob("*")] if path.is_dir() else [path]
    statuses = [each.lstat() for each in paths if each.is_file() and not each.is_symlink()]
    return sum(status.st_size for status in statuses if status.st_nlink == 1)


def remove(each: Removable) -> str:
    """Remove one item; return the reason if it cannot be removed."""
    if each.kind == "image":
        status, output = docker("image", "rm", each.name)
        return output if status else ""
    if each.model is None:
        shutil.rmtree(each.paths[0])
        return ""
    place = layout_of(each.model)
    with locked(place.base):
        (place.base / f"{each.model.commit}.json").unlink(missing_ok=True)
        remove_snapshot(place) if isinstance(place, HubLayout) else remove_directory(place)
    return ""


def remove_snapshot(place: HubLayout) -> None:
    """Remove a snapshot: rename it, remove its blobs, then the renamed directory, so that a killed run can resume."""
    paths = hub_paths(place)
    removed = place.base / f"removed-{place.snapshot.name}"
    for ref in list(refs_to(place)):
        ref.unlink()
    if place.snapshot.is_dir() and not removed.exists():
        place.snapshot.rename(removed)
    for blob in paths:
        if blob.parent == place.root / "blobs":
            blob.unlink(missing_ok=True)
    for each in (place.snapshot, removed):
        shutil.rmtree(each, ignore_errors=True)


def remove_directory(place: DirectoryLayout) -> None:
    """Remove the link to the directory of a commit, and then the directory."""
    if place.seen.is_symlink() and place.seen.resolve() == place.whole.resolve():
        place.seen.unlink()
    shutil.rmtree(place.whole)


def prune(roots: Roots, *, current: str, keep: int, needed: set[str], write: bool) -> Iterator[dict[str, Any]]:
    """Remove what only old generations need, and then these generations; return one line per item."""
    kept, old = divide(records(roots), current=current, keep=keep, needed=needed)
    stay = False
    for each in list(removable(kept, old, roots)):
        why = remove(each) if write else ""
        stay = stay or bool(why)
        yield {"kind": each.kind, "name": each.name, "size_bytes": each.size_bytes, "kept_because": why}
    for former in old:
        if write and not stay:
            shutil.rmtree(roots.generations / former.generation, ignore_errors=True)
        why = "some of its items could not be removed" if stay else ""
        yield {"kind": "generation", "name": former.generation, "size_bytes": 0, "kept_because": why}
