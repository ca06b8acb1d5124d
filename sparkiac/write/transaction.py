"""Replace a tree atomically."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from sparkiac.write import exchange, lock, stage, tree
from sparkiac.write.errors import WouldOverwrite
from sparkiac.write.generated import GeneratedTree
from sparkiac.write.paths import TargetPaths
from sparkiac.write.preview import examine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from sparkiac.report.artifact import Artifact
    from sparkiac.write.comparison import Changes
    from sparkiac.write.preview import ExaminedTree
    from sparkiac.write.tree import FileStatus


def commit(
    artifacts: Sequence[Artifact],
    target: Path,
    *,
    inputs: Mapping[str, str],
    generator: str,
    force: bool = False,
) -> Changes:
    """Replace the target with these artifacts and their manifest, and return the changes.

    `inputs` are the SHA-256 hashes of the input files by name, and `generator` is the version; both are stored in the
    manifest. If the process is killed, the target is the former or the new tree (see `exchange` for file systems that
    do not support this), and the next run removes the staging directories. If there is no change, no file is touched.
    A shell whose current directory is the target stays in the deleted tree; `cd .` enters the new one.

    Raises these errors and leaves the target as it was: `WouldOverwrite` if files were edited by hand (`force`
    overwrites them and lists them in the result), `UnsafeTarget` for symlinks and invalid paths, `Busy` if another run
    is writing, and `OSError`. Only an `OSError` from deleting the former tree comes after the replacement; the next
    run deletes it then.
    """
    generated = GeneratedTree.with_manifest(artifacts, inputs=inputs, generator=generator)
    paths = TargetPaths.of(target)
    examined = None
    # Most runs change nothing: they need no lock. Leftovers of another run are judged by the one that holds it.
    if not paths.leftovers():
        examined = examine(paths, generated.stamps, force=force)
        if not examined.comparison.changes.any:
            return examined.comparison.changes
    with _parents(paths.target.parent), lock.hold(paths):
        return _replace(paths, generated, examined, force=force)


def _replace(paths: TargetPaths, generated: GeneratedTree, examined: ExaminedTree | None, *, force: bool) -> Changes:
    """Replace the tree. What was examined without the lock holds if no path has changed since."""
    if examined is None or examined.entries != _entries(paths.target):
        examined = examine(paths, generated.stamps, force=force)
    before, comparison = examined
    if not comparison.changes.any:
        return comparison.changes
    stage.build(paths.new, present=paths.target, comparison=comparison, generated=generated)
    # A user or a program may have saved a file since the comparison. After this check, only microseconds remain.
    after = _entries(paths.target)
    if after != before:
        raise _changed_during_run(before or {}, after or {})
    if after is None:
        paths.new.rename(paths.target)
    else:
        exchange.swap(paths)
    return comparison.changes


def _entries(target: Path) -> dict[str, FileStatus] | None:
    """Return the files of the current tree, or None if there is no tree. The target is locked against other runs."""
    return tree.scan(target) if target.exists() else None


def _changed_during_run(before: Mapping[str, FileStatus], after: Mapping[str, FileStatus]) -> WouldOverwrite:
    paths = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return WouldOverwrite(
        dict.fromkeys(paths or {"."}, "changed during the run"),
        reason="the target changed during the run; nothing was written; run again",
    )


@contextmanager
def _parents(folder: Path) -> Iterator[None]:
    """Create the directories above the target, and remove them if the run fails."""
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
