"""Build the next tree beside the current one.

Files are not synced to the disk, because sixty syncs would take longer than everything else. A killed process loses
nothing; after a power cut, `git restore` or `generate --force` restores the tree.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from sparkiac.write import tree
from sparkiac.write.errors import naming

if TYPE_CHECKING:
    from sparkiac.write.comparison import TreeComparison
    from sparkiac.write.generated import GeneratedTree

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
