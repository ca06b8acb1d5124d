"""Determine the changes of a commit without writing and without a lock: as lists of paths, and as a patch."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple, TypeVar

from sparkiac.report.artifact import Artifact
from sparkiac.write import manifest, tree
from sparkiac.write.comparison import Changes, ExistingTree, TreeComparison, compare, unmanaged
from sparkiac.write.manifest import GeneratedTree, Owned, Stamp
from sparkiac.write.staging import Busy, TargetPaths, WriteError
from sparkiac.write.tree import FileStatus

Result = TypeVar("Result")

_TRIES = 20
"""A try fails only if another run replaces the tree during the milliseconds of reading it."""
_NO_NEWLINE = "\n\\ No newline at end of file\n"


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


class _PatchSide(NamedTuple):
    """A file before or after the change."""

    content: bytes
    executable: bool

    @property
    def mode(self) -> str:
        return "100755" if self.executable else "100644"


def diff(artifacts: Sequence[Artifact], target: Path) -> str:
    """Return the patch from the files of the target to the artifacts, sorted by path; empty if they are equal.

    The manifest and files that sparkiac did not write are left out; `survey` lists them. Raises `UnsafeTarget` and
    `OSError` like `survey`.
    """
    generated = GeneratedTree.of(artifacts)
    new = {path: _PatchSide(file.content, generated.stamps[path].executable) for path, file in generated.files.items()}
    old = read_stable(TargetPaths.of(target), lambda root: {} if root is None else _present(root, new.keys()))
    return "".join(
        part
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path)
        for part in _file(path, old.get(path), new.get(path))
    )


def diff_of(name: str, old: bytes, new: bytes) -> str:
    """Return the patch of one file; empty if it does not change."""
    sides = (_PatchSide(content, executable=False) for content in (old, new))
    return "" if old == new else "".join(_file(name.lstrip("/"), *sides))


def _present(root: Path, generated: AbstractSet[str]) -> dict[str, _PatchSide]:
    known = generated | manifest.load(root).files.keys()
    return {
        path: _PatchSide(tree.content(root, path), executable=bool(entry.mode & stat.S_IXUSR))
        for path, entry in tree.scan(root).items()
        if path in known and not entry.is_dir
    }


def _file(path: str, old: _PatchSide | None, new: _PatchSide | None) -> Iterator[str]:
    yield f"diff --git a/{path} b/{path}\n"
    if old is None and new is not None:
        yield f"new file mode {new.mode}\n"
    elif new is None and old is not None:
        yield f"deleted file mode {old.mode}\n"
    elif old is not None and new is not None and old.mode != new.mode:
        yield f"old mode {old.mode}\nnew mode {new.mode}\n"
    names = (f"a/{path}" if old else "/dev/null", f"b/{path}" if new else "/dev/null")
    before, after = (_lines(side.content if side else b"") for side in (old, new))
    if before is None or after is None:
        if old is None or new is None or old.content != new.content:
            yield f"Binary files {names[0]} and {names[1]} differ\n"
        return
    yield from _hunks(before, after, names=names)


def _hunks(before: list[str], after: list[str], *, names: tuple[str, str]) -> Iterator[str]:
    from difflib import unified_diff  # noqa: PLC0415  only `--diff` needs it

    for line in unified_diff(before, after, *names):
        yield line if line.endswith("\n") else line + _NO_NEWLINE


def _lines(content: bytes) -> list[str] | None:
    """Split text at line feeds only, as Git does; return None for binary content."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines
