"""Replace a tree as a whole, or not at all."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from sparkiac.write import exchange, lock, stage, tree
from sparkiac.write.errors import Refused
from sparkiac.write.place import Place
from sparkiac.write.preview import examine
from sparkiac.write.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from sparkiac.artifact import Artifact
    from sparkiac.write.comparison import Changes
    from sparkiac.write.tree import Entry


def commit(
    artifacts: Sequence[Artifact],
    target: Path,
    *,
    inputs: Mapping[str, str],
    generator: str,
    force: bool = False,
) -> Changes:
    """Make the target hold exactly these artifacts and their manifest; say what changed.

    `inputs` are the SHA-256 of the input files by name, `generator` is the version; both stand in the manifest.
    Killed at any moment, the target is the former tree or the new one (see `exchange` for file systems that
    cannot do so), and the next run removes what is left beside it. When nothing changes, nothing is touched.
    A shell that stands in the target stays in the former, deleted tree: `cd .` brings it back.

    Raises, with the target as it was: `Refused` when work of a person would be lost (force goes on and lists
    it in the result), `Unsafe` for symlinks and impossible paths, `Busy` when another run writes here, and
    `OSError` when the disk says no. One `OSError` comes later: when the new tree is in place and the former one
    cannot be deleted; the next run tries that again.
    """
    wanted = Wanted.with_manifest(artifacts, inputs=inputs, generator=generator)
    place = Place.of(target)
    if not place.leftovers():
        changes = examine(place, wanted.stamps, force=force).changes
        if not changes.any:
            return changes
    with _parents(place.target.parent), lock.hold(place):
        return _replace(place, wanted, force=force)


def _replace(place: Place, wanted: Wanted, *, force: bool) -> Changes:
    before = _entries(place.target)
    comparison = examine(place, wanted.stamps, force=force)
    if not comparison.changes.any:
        return comparison.changes
    stage.build(place.new, present=place.target, comparison=comparison, wanted=wanted)
    # A person or a tool may have saved a file meanwhile. What is left after this look is microseconds.
    after = _entries(place.target)
    if after != before:
        raise _meanwhile(before or {}, after or {})
    if after is None:
        place.new.rename(place.target)
    else:
        exchange.swap(place)
    return comparison.changes


def _entries(target: Path) -> dict[str, Entry] | None:
    """Look at the tree as it is now; None when there is none. Only this run replaces it, so it is one tree."""
    return tree.scan(target) if target.exists() else None


def _meanwhile(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> Refused:
    paths = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return Refused(
        dict.fromkeys(paths or {"."}, "changed meanwhile"),
        reason="someone changed the target during the run; nothing was written, run again",
    )


@contextmanager
def _parents(folder: Path) -> Iterator[None]:
    """Make the directories above the target, and take them back if the run fails."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
        yield
    except BaseException:
        for path in missing:
            with suppress(OSError):
                path.rmdir()
        raise
