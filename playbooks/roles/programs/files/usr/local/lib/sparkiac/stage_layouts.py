"""The two layouts of a model store: where the files lie, and the one rename after which all of them are seen."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from typing import TYPE_CHECKING

from stage_store import File, Found, Model, StageError, give, make_directory, replace, write_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GIT_HASH = re.compile(r"[0-9a-f]{40}")


def layout_of(model: Model) -> Hub | Directory:
    """Return the layout that a model is wanted in. Its `base` is a directory of ours, which no engine reads."""
    return Hub(model) if model.layout == "hub" else Directory(model)


class Hub:
    """The cache of huggingface_hub: blobs, and a snapshot of links for each commit.

    Its offline look-up (huggingface_hub 2.4, snapshot_download) wants refs/main, which holds the commit and no line's
    end, and the directory snapshots/<commit>. Blobs are named by etags: sha256, and a git hash for small files.
    """

    def __init__(self, model: Model) -> None:
        """Find the places of a model."""
        self.model = model
        self.root = model.store / "hub" / f"models--{model.name.replace('/', '--')}"
        self.base = self.root / ".sparkiac"
        self.snapshot = self.root / "snapshots" / model.commit
        self.scratch = self.base / f"snapshot-{model.commit}"
        self.by_size: dict[int, list[Path]] = {}
        for blob in (self.root / "blobs").glob("*"):
            if GIT_HASH.fullmatch(blob.name) and blob.is_file():
                self.by_size.setdefault(blob.stat().st_size, []).append(blob)

    def target(self, file: File) -> Path:
        """Return the blob of a file."""
        return self.root / "blobs" / file.sha256

    def candidates(self, file: File) -> Iterator[Path]:
        """Give what the snapshot has, then the blob of that content, then blobs named by git that are as long."""
        for seen in (self.snapshot / file.path, self.scratch / file.path):
            if seen.is_file():
                yield self._place(seen)
        yield self.target(file)
        yield from self.by_size.get(file.size_bytes, ())

    def _place(self, seen: Path) -> Path:
        """Return the blob that a link of a snapshot names, or the file itself when it is no link."""
        return self.root / "blobs" / seen.readlink().name if seen.is_symlink() else seen

    def is_published(self, found: Found) -> bool:
        """Tell whether the snapshot has just these files under their names, and main is this commit."""
        return not found.wrong and self._has(found) and self._main() == self.model.commit

    def _main(self) -> str:
        """Return what main is."""
        main = self.root / "refs/main"
        return main.read_text(encoding="ascii", errors="replace") if main.is_file() else ""

    def _has(self, found: Found) -> bool:
        seen = {self.snapshot / path: place for path, place in found.places.items()}
        return all(path.exists() and path.samefile(place) for path, place in seen.items())

    def publish(self, found: Found) -> None:
        """Make the snapshot whole where nobody looks, and rename it. What a user has in it besides stays."""
        make_directory(self.snapshot.parent)
        if not self._has(found):
            if self.snapshot.exists():
                shutil.rmtree(self.scratch, ignore_errors=True)
                self.snapshot.rename(self.scratch)
            for path, place in found.places.items():
                self._link(self.scratch / path, place)
            replace(self.scratch, self.snapshot)
        write_text(self.root / "refs/main", self.model.commit)

    def _link(self, link: Path, place: Path) -> None:
        if place.parent != self.root / "blobs":
            return  # a file that lies in the snapshot itself
        make_directory(link.parent)
        if link.is_symlink() or link.exists():
            link.unlink()
        link.symlink_to(os.path.relpath(place, self.snapshot / link.relative_to(self.scratch).parent))
        give(link)


class Directory:
    """Plain files in <store>/<org>/<name>, which is a link to the directory of a commit; a rename switches it."""

    def __init__(self, model: Model) -> None:
        """Find the places of a model."""
        self.model = model
        self.base = model.store / ".sparkiac" / model.name
        self.whole = self.base / model.commit
        self.seen = model.store / model.name

    def target(self, file: File) -> Path:
        """Return where a file lies for this commit."""
        return self.whole / file.path

    def candidates(self, file: File) -> Iterator[Path]:
        """Give our own place, what was there before sparkiac, and what another commit has of the same name."""
        yield self.target(file)
        if not self._is_ours():
            yield self.seen / file.path
        with contextlib.suppress(OSError):
            yield from sorted(each / file.path for each in self.base.iterdir() if GIT_HASH.fullmatch(each.name))

    def is_published(self, found: Found) -> bool:
        """Tell whether the name leads to these files: by our link, or as a directory of the user's that has them."""
        leads = self.seen.resolve() == self.whole.resolve()
        if not found.wrong and not leads:
            return all(place == self.seen / path for path, place in found.places.items()) and not self._is_ours()
        return not found.wrong and all(place == self.whole / path for path, place in found.places.items())

    def _is_ours(self) -> bool:
        """Tell whether the name is a link that sparkiac made."""
        return self.seen.is_symlink() and self.base.resolve() in self.seen.resolve().parents

    def publish(self, found: Found) -> None:
        """Switch the name to this commit. A directory that was there before sparkiac is kept beside it."""
        for path, place in found.places.items():
            take(place, self.whole / path)
        link = self.base / "link"
        link.unlink(missing_ok=True)
        make_directory(self.seen.parent)
        link.symlink_to(os.path.relpath(self.whole, self.seen.parent))
        give(link)
        if self.seen.exists() and not self._is_ours():
            self.seen.rename(self._aside())
        replace(link, self.seen)

    def _aside(self) -> Path:
        names = [self.seen.with_name(f"{self.seen.name}.before-sparkiac{end}") for end in ("", *range(2, 100))]
        return next(name for name in names if not name.exists())


def take(place: Path, target: Path) -> None:
    """Give a file a second name, in the directory of a commit."""
    if target.exists() and target.samefile(place):
        return
    make_directory(target.parent)
    scratch = target.with_name(f".{target.name}.new")
    scratch.unlink(missing_ok=True)
    try:
        os.link(place, scratch)
    except OSError as error:
        message = f"{place} cannot be used for {target} ({error.strerror}): move it there, or away"
        raise StageError(message) from None
    replace(scratch, target)
