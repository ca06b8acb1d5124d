"""Determine the changes of a commit without writing and without a lock."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from sparkiac.report.artifact import Artifact
from sparkiac.write import manifest, tree
from sparkiac.write.comparison import Changes, ExistingTree, TreeComparison, compare, unmanaged
from sparkiac.write.errors import Busy, WriteError
from sparkiac.write.generated import GeneratedTree
from sparkiac.write.manifest import Owned, Stamp
from sparkiac.write.paths import TargetPaths
from sparkiac.write.tree import FileStatus

Result = TypeVar("Result")

_TRIES = 20
"""A try fails only if another run replaces the tree during the milliseconds of reading it."""


class ExaminedTree(NamedTuple):
    """The tree on disk, None if there is none, and its comparison with the generated files."""

    entries: Mapping[str, FileStatus] | None
    """The status of every path, taken before its content was read."""
    comparison: TreeComparison


def survey(
    artifacts: Sequence[Artifact],
    target: Path,
    *,
    inputs: Mapping[str, str],
    generator: str,
    force: bool = False,
) -> Changes:
    """Return the changes that `commit` would make; write nothing.

    Raises `WouldOverwrite`, `UnsafeTarget` and `OSError` like `commit`, and `Busy` only if another run keeps replacing
    the tree.
    """
    generated = GeneratedTree.with_manifest(artifacts, inputs=inputs, generator=generator)
    return examine(TargetPaths.of(target), generated.stamps, force=force).comparison.changes


def examine(paths: TargetPaths, generated: Mapping[str, Stamp], *, force: bool) -> ExaminedTree:
    """Compare the tree on disk with the generated files. Raises the errors of `survey`."""
    return read_stable(paths, lambda root: _examine(root, generated, force=force))


def read_stable(paths: TargetPaths, read: Callable[[Path | None], Result]) -> Result:
    """Call `read` with the current tree, or None if there is none; repeat this if the tree is replaced during the call.

    A tree is only replaced as a whole, never changed in place. So if the directory is still the same afterwards, all
    files that were read belong together. The directory stays open, so that its inode number is not reused.
    """
    for _ in range(_TRIES):
        root = paths.current()
        if root is None:
            return read(None)
        try:
            anchor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        try:
            result = read(root)
        except (WriteError, FileNotFoundError):
            if _is_same(paths, root, anchor):
                raise
        else:
            if _is_same(paths, root, anchor):
                return result
        finally:
            os.close(anchor)
    raise Busy({".": "replaced while it was read"}, reason="another run keeps replacing the target")


def _is_same(paths: TargetPaths, root: Path, anchor: int) -> bool:
    """Return whether the tree that was read is still the current one."""
    return paths.current() == root and is_open_at(anchor, root)


def is_open_at(descriptor: int, path: Path) -> bool:
    """Return whether an open directory is still the one at this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _examine(root: Path | None, generated: Mapping[str, Stamp], *, force: bool) -> ExaminedTree:
    if root is None:
        return ExaminedTree(None, compare(generated, ExistingTree({}, frozenset()), Owned({}), force=force))
    owned = manifest.load(root)
    # A wrong target such as the home directory can be huge, so the search ends at the first file.
    if owned.problem == manifest.MISSING and not force and _has_a_file(root):
        raise unmanaged(owned.problem)
    entries = tree.scan(root)
    known = generated.keys() | owned.files.keys()
    files = {
        path: Stamp.of(tree.content(root, path), entry.mode) if path in known else None
        for path, entry in entries.items()
        if not entry.is_dir
    }
    existing = ExistingTree(files, entries.keys() - files.keys())
    return ExaminedTree(entries, compare(generated, existing, owned, force=force))


def _has_a_file(root: Path) -> bool:
    return any(stat.S_ISREG(status.st_mode) and not tree.carried(path) for path, status in tree.walk(root))
