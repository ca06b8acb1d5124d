"""Replace a tree atomically: build the next tree beside the current one, then exchange them.

Files are not synced to the disk, because sixty syncs would take longer than everything else. A killed process loses
nothing; after a power cut, `git restore` or `generate --force` restores the tree.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sparkiac.report.artifact import Artifact
from sparkiac.write import lock, staging, tree
from sparkiac.write.comparison import Changes, TreeComparison
from sparkiac.write.manifest import GeneratedTree
from sparkiac.write.preview import ExaminedTree, examine
from sparkiac.write.staging import TargetPaths, WouldOverwrite, naming
from sparkiac.write.tree import FileStatus

_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_CANNOT_LINK = frozenset(
    {errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.EINVAL}
)
"""Errors of a file system without hard links, or of `fs.protected_hardlinks`: the file is copied instead."""
_CHUNK_BYTES = 1 << 20


def build(new: Path, *, present: Path, comparison: TreeComparison, generated: GeneratedTree) -> None:
    """Fill the empty directory `new`: link unchanged files, write changed ones, and carry over files of others.

    The umask does not change the modes. Raises `OSError`; `new` is then incomplete.
    """
    new.chmod(0o755)
    made = {""}
    for path, file in generated.files.items():
        if path.rpartition("/")[0] not in made:
            _make_directories(new, tree.ancestors(path), made)
        if path in comparison.kept:
            _link(f"{present}/{path}", f"{new}/{path}")
        else:
            _write(new / path, file.content, mode=file.mode)
    _carry(new, present, comparison.carried, made)


def _make_directories(new: Path, paths: list[str], made: set[str]) -> None:
    """Create these directories, listed from the deepest to the topmost, unless they already exist."""
    for path in reversed(paths):
        if path not in made:
            made.add(path)
            os.mkdir(f"{new}/{path}", 0o755)  # noqa: PTH102  for a large fleet, Path takes longer than the system call
            os.chmod(f"{new}/{path}", 0o755)  # noqa: PTH101, S103  whatever the umask


def _carry(new: Path, present: Path, paths: tuple[str, ...], ours: set[str]) -> None:
    """Carry over what is not generated: link the files, create the directories, and keep mode and times of these."""
    theirs: set[str] = set(ours)
    for path in paths:
        if stat.S_ISDIR((present / path).lstat().st_mode):
            _make_directories(new, [path, *tree.ancestors(path)], theirs)
        else:
            _make_directories(new, tree.ancestors(path), theirs)
            _link(f"{present}/{path}", f"{new}/{path}")
    for path in sorted(theirs - ours, reverse=True):
        status = (present / path).stat()
        os.utime(new / path, ns=(status.st_atime_ns, status.st_mtime_ns))
        (new / path).chmod(stat.S_IMODE(status.st_mode))


def _link(source: str, copy: str) -> None:
    """Create a hard link, so that the file keeps its inode and its times."""
    try:
        os.link(source, copy, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _CANNOT_LINK:
            raise
        _copy(source, copy, reason=error)


def _copy(source: str, copy: str, *, reason: OSError) -> None:
    original = Path(source)
    status = original.lstat()
    if stat.S_ISLNK(status.st_mode):
        Path(copy).symlink_to(original.readlink())
        return
    if not stat.S_ISREG(status.st_mode):
        raise reason
    with original.open("rb") as reading, os.fdopen(os.open(copy, _FILE_FLAGS, 0o600), "wb") as writing:
        while chunk := reading.read(_CHUNK_BYTES):
            writing.write(chunk)
        os.fchmod(writing.fileno(), stat.S_IMODE(status.st_mode))
    os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))


def _write(path: Path, content: bytes, *, mode: int) -> None:
    with naming(path), os.fdopen(os.open(path, _FILE_FLAGS, 0o600), "wb", buffering=0) as file:
        left = memoryview(content)
        while left:
            left = left[file.write(left) :]
        os.fchmod(file.fileno(), mode)


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
    build(paths.new, present=paths.target, comparison=comparison, generated=generated)
    # A user or a program may have saved a file since the comparison. After this check, only microseconds remain.
    after = _entries(paths.target)
    if after != before:
        raise _changed_during_run(before or {}, after or {})
    if after is None:
        paths.new.rename(paths.target)
    else:
        staging.swap(paths)
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
