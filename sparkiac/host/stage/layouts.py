"""The two layouts of a model store: the paths of the files, and the rename that publishes all of them at once."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from ..durable import rename
from .store import ModelFile, StagedModel, StageError, StoreScan, make_directory, match_owner, write_text

GIT_HASH = re.compile(r"[0-9a-f]{40}")


def layout_of(model: StagedModel) -> HubLayout | DirectoryLayout:
    """Return the layout of a model. Its `base` is a directory of sparkiac that engines do not read."""
    return HubLayout(model) if model.layout == "hub" else DirectoryLayout(model)


class HubLayout:
    """The cache of huggingface_hub: blobs, and a snapshot with links for each commit.

    Offline lookup (huggingface_hub 2.4, snapshot_download) needs the directory snapshots/<commit> and refs/main, which
    contains the commit without a line end. Blobs are named by their etags: SHA-256, or a Git hash for small files.
    """

    def __init__(self, model: StagedModel) -> None:
        """Set the paths of a model."""
        self.model = model
        self.root = model.store / "hub" / f"models--{model.name.replace('/', '--')}"
        self.base = self.root / ".sparkiac"
        self.snapshot = self.root / "snapshots" / model.commit
        self.scratch = self.base / f"snapshot-{model.commit}"
        self.by_size: dict[int, list[Path]] = {}
        for blob in (self.root / "blobs").glob("*"):
            if GIT_HASH.fullmatch(blob.name) and blob.is_file():
                self.by_size.setdefault(blob.stat().st_size, []).append(blob)

    def target(self, file: ModelFile) -> Path:
        """Return the path of the blob of a file."""
        return self.root / "blobs" / file.sha256

    def candidates(self, file: ModelFile) -> Iterator[Path]:
        """Return where a file may be: in the snapshot, as a blob of that hash, or as a Git-named blob of that size."""
        for seen in (self.snapshot / file.path, self.scratch / file.path):
            if seen.is_file():
                yield self._place(seen)
        yield self.target(file)
        yield from self.by_size.get(file.size_bytes, ())

    def _place(self, seen: Path) -> Path:
        """Return the blob that a link in a snapshot points to, or the file itself if it is not a link."""
        return self.root / "blobs" / seen.readlink().name if seen.is_symlink() else seen

    def is_there(self) -> bool:
        """Return whether this commit has been published. No file is read."""
        return self.snapshot.is_dir()

    def is_published(self, found: StoreScan) -> bool:
        """Return whether the snapshot has exactly these files and refs/main contains this commit."""
        return not found.wrong and self._has(found) and self._main() == self.model.commit

    def _main(self) -> str:
        """Return the content of refs/main."""
        main = self.root / "refs/main"
        return main.read_text(encoding="ascii", errors="replace") if main.is_file() else ""

    def _has(self, found: StoreScan) -> bool:
        seen = {self.snapshot / path: place for path, place in found.places.items()}
        return all(path.exists() and path.samefile(place) for path, place in seen.items())

    def publish(self, found: StoreScan) -> None:
        """Link the files of the commit into a scratch directory and rename it. Other files in the snapshot are kept."""
        make_directory(self.snapshot.parent)
        if not self._has(found):
            if self.snapshot.exists():
                shutil.rmtree(self.scratch, ignore_errors=True)
                self.snapshot.rename(self.scratch)
            for path, place in found.places.items():
                self._link(self.scratch / path, place)
            rename(self.scratch, self.snapshot)
        write_text(self.root / "refs/main", self.model.commit)

    def _link(self, link: Path, place: Path) -> None:
        if place.parent != self.root / "blobs":
            return  # the file itself is in the snapshot
        make_directory(link.parent)
        if link.is_symlink() or link.exists():
            link.unlink()
        link.symlink_to(os.path.relpath(place, self.snapshot / link.relative_to(self.scratch).parent))
        match_owner(link)


class DirectoryLayout:
    """Plain files in <store>/<org>/<name>, a link to the directory of a commit; a rename replaces the link."""

    def __init__(self, model: StagedModel) -> None:
        """Set the paths of a model."""
        self.model = model
        self.base = model.store / ".sparkiac" / model.name
        self.whole = self.base / model.commit
        self.seen = model.store / model.name

    def target(self, file: ModelFile) -> Path:
        """Return the path of a file of this commit."""
        return self.whole / file.path

    def candidates(self, file: ModelFile) -> Iterator[Path]:
        """Return where a file may be: in the directory of this commit, of the user, or of another commit."""
        yield self.target(file)
        if not self._is_ours():
            yield self.seen / file.path
        with contextlib.suppress(OSError):
            yield from sorted(each / file.path for each in self.base.iterdir() if GIT_HASH.fullmatch(each.name))

    def is_there(self) -> bool:
        """Return whether this commit has been published, or the user has a directory. No file is read."""
        return self.whole.is_dir() or (self.seen.is_dir() and not self._is_ours())

    def is_published(self, found: StoreScan) -> bool:
        """Return whether the name points to these files: by sparkiac's link, or as a directory of the user."""
        leads = self.seen.resolve() == self.whole.resolve()
        if not found.wrong and not leads:
            return all(place == self.seen / path for path, place in found.places.items()) and not self._is_ours()
        return not found.wrong and all(place == self.whole / path for path, place in found.places.items())

    def _is_ours(self) -> bool:
        """Return whether the name is a link that sparkiac created."""
        return self.seen.is_symlink() and self.base.resolve() in self.seen.resolve().parents

    def publish(self, found: StoreScan) -> None:
        """Point the link of the model to this commit. A directory of the user with its name is kept, renamed."""
        for path, place in found.places.items():
            hard_link(place, self.whole / path)
        link = self.base / "link"
        link.unlink(missing_ok=True)
        make_directory(self.seen.parent)
        link.symlink_to(os.path.relpath(self.whole, self.seen.parent))
        match_owner(link)
        if self.seen.exists() and not self._is_ours():
            self.seen.rename(self._aside())
        rename(link, self.seen)

    def _aside(self) -> Path:
        names = [self.seen.with_name(f"{self.seen.name}.before-sparkiac{end}") for end in ("", *range(2, 100))]
        return next(name for name in names if not name.exists())


def hard_link(place: Path, target: Path) -> None:
    """Create a hard link to a file in the directory of a commit."""
    if target.exists() and target.samefile(place):
        return
    make_directory(target.parent)
    scratch = target.with_name(f".{target.name}.new")
    scratch.unlink(missing_ok=True)
    try:
        os.link(place, scratch)
    except OSError as error:
        raise StageError(f"cannot link {target} to {place} ({error.strerror}): move {place} there, or away") from None
    rename(scratch, target)
