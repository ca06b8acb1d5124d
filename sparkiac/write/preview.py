"""Show what a commit would do, without writing and without a lock."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, TypeVar

from sparkiac.write import manifest, tree
from sparkiac.write.comparison import Comparison, Found, compare, unmanaged
from sparkiac.write.errors import Busy, WriteError
from sparkiac.write.manifest import Owned, Stamp
from sparkiac.write.place import Place
from sparkiac.write.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from sparkiac.artifact import Artifact
    from sparkiac.write.comparison import Changes

Result = TypeVar("Result")

_TRIES = 20
"""Each try fails only if a whole generation was committed during it, in the milliseconds it takes."""


def survey(
    artifacts: Sequence[Artifact],
    target: Path,
    *,
    inputs: Mapping[str, str],
    generator: str,
    force: bool = False,
) -> Changes:
    """Return what `commit` would do; write nothing.

    Raises `Refused`, `Unsafe` and `OSError` as `commit` does, and `Busy` only if another run replaces the
    tree over and over.
    """
    wanted = Wanted.with_manifest(artifacts, inputs=inputs, generator=generator)
    return examine(Place.of(target), wanted.stamps, force=force).changes


def examine(place: Place, wanted: Mapping[str, Stamp], *, force: bool) -> Comparison:
    """Compare the present tree with the wanted files. Raises as `survey` does."""
    return steadily(place, lambda root: _examine(root, wanted, force=force))


def steadily(place: Place, read: Callable[[Path | None], Result]) -> Result:
    """Call `read` on the present tree (None: there is none), again if it was replaced during the call.

    A tree is never changed in place, only replaced as a whole. So all that was read belongs to one generation
    if the directory is the same one afterwards; it is held open, so that its inode number is not reused.
    """
    for _ in range(_TRIES):
        root = place.current()
        if root is None:
            return read(None)
        try:
            anchor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        try:
            result = read(root)
        except (WriteError, FileNotFoundError):
            if _still(place, root, anchor):
                raise
        else:
            if _still(place, root, anchor):
                return result
        finally:
            os.close(anchor)
    raise Busy({".": "replaced while it was read"}, reason="another run keeps replacing the target")


def _still(place: Place, root: Path, anchor: int) -> bool:
    """Whether the tree that was read is the present one; a former one, set aside, is being deleted."""
    return place.current() == root and is_open_at(anchor, root)


def is_open_at(descriptor: int, path: Path) -> bool:
    """Whether an open directory is still the one at this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _examine(root: Path | None, wanted: Mapping[str, Stamp], *, force: bool) -> Comparison:
    if root is None:
        return compare(wanted, Found({}, frozenset()), Owned({}), force=force)
    owned = manifest.load(root)
    # A target given by mistake (`--out ~`) may be huge: its first file is enough to say no.
    if owned.problem == manifest.MISSING and not force and _has_a_file(root):
        raise unmanaged(owned.problem)
    entries = tree.scan(root)
    known = wanted.keys() | owned.files.keys()
    files = {
        path: _stamp(root / path, entry.mode) if path in known else None
        for path, entry in entries.items()
        if not entry.is_dir
    }
    return compare(wanted, Found(files, entries.keys() - files.keys()), owned, force=force)


def _stamp(path: Path, mode: int) -> Stamp:
    return Stamp.of(path.read_bytes(), mode)


def _has_a_file(root: Path) -> bool:
    return any(stat.S_ISREG(status.st_mode) and not tree.carried(path) for path, status in tree.walk(root))
